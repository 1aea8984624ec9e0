//===- Arena.h - The memory of a rank -------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_ARENA_H
#define PIPEMESH_RUNTIME_HOST_ARENA_H

#include <cstddef>
#include <cstdint>

namespace pipemesh::runtime {

/// Zeroed memory, aligned to 2 MiB where it is that large (else to a page), so
/// that the kernel can back it by huge pages. Pages are placed by whoever
/// touches them first, which is the rank that owns the arena.
class Arena {
public:
  Arena() = default;
  explicit Arena(uint64_t bytes);
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;

  std::byte *data() const { return base; }
  uint64_t size() const { return length; }

private:
  void *mapping = nullptr;
  uint64_t mapped = 0;
  std::byte *base = nullptr;
  uint64_t length = 0;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_ARENA_H
