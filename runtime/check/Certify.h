//===- Certify.h - The proof of a bundle, for other programs --------------===//
//
// Includes nothing of the runtime, so that a program without exceptions can use
// it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_CERTIFY_H
#define PIPEMESH_RUNTIME_CHECK_CERTIFY_H

#include <cstdint>
#include <string>

namespace pipemesh::proof {

struct BundleVerdict {
  bool proved = false;
  std::string text; ///< what was proved, or the counterexample
};

/// Proves a bundle on disk. `memoryLimit` is that of a rank in bytes; 0 takes the
/// manifest's. Each of the `threads` of a rank has scratch of its own.
BundleVerdict judgeBundle(const std::string &directory, uint64_t memoryLimit = 0,
                          uint64_t threads = 1) noexcept;

/// Proves a bundle and writes its certificate.json. Returns what is wrong, or
/// nothing.
std::string certify(const std::string &directory,
                    uint64_t memoryLimit = 0) noexcept;

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_CERTIFY_H
