//===- Arena.cpp - The memory of a rank -----------------------------------===//

#include "host/Arena.h"

#include "core/Error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace pipemesh::runtime {

static constexpr uint64_t hugePage = 2u << 20;

Arena::Arena(uint64_t bytes) : length(bytes) {
  uint64_t slack = bytes >= hugePage ? hugePage : 0;
  mapped = bytes + slack + 64;
  mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    mapping = nullptr;
    fail("cannot allocate ", bytes, " bytes for a rank: ", std::strerror(errno),
         "; use more micro-batches or fewer ranks");
  }
  auto address = reinterpret_cast<uintptr_t>(mapping);
  if (slack) {
    address = (address + hugePage - 1) / hugePage * hugePage;
    madvise(reinterpret_cast<void *>(address), bytes, MADV_HUGEPAGE);
  }
  base = reinterpret_cast<std::byte *>(address);
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mapped);
}

Arena::Arena(Arena &&other) noexcept { *this = std::move(other); }

Arena &Arena::operator=(Arena &&other) noexcept {
  std::swap(mapping, other.mapping);
  std::swap(mapped, other.mapped);
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

} // namespace pipemesh::runtime
