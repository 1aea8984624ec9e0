//===- Digest.h - SHA-256 -------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_DIGEST_H
#define PIPEMESH_RUNTIME_CORE_DIGEST_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace pipemesh::runtime {

/// SHA-256 (FIPS 180-4) of bytes, as 64 hexadecimal digits.
std::string sha256(const void *data, uint64_t bytes);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_DIGEST_H
