//===- Certificate.h - Does a bundle have the certificate of its files? ---===//

#ifndef PIPEMESH_RUNTIME_CORE_CERTIFICATE_H
#define PIPEMESH_RUNTIME_CORE_CERTIFICATE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pipemesh::runtime {

inline constexpr const char *certificateFile = "certificate.json";
inline constexpr const char *certificateFormat = "pipemesh-certificate";
inline constexpr int64_t certificateVersion = 1;

/// A bundle's hash, and the SHA-256 of each file that a run reads.
struct BundleDigests {
  std::string hash;
  std::vector<std::pair<std::string, std::string>> files;
};
BundleDigests digestBundle(const std::string &directory);

/// Throws unless the bundle has a certificate, and it is that of its files, and
/// where it was proved for a limit of memory, that suffices for `threads` of each
/// rank.
void checkCertificate(const std::string &directory, uint64_t threads = 1);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_CERTIFICATE_H
