//===- Memory.cpp - device memory and pinned memory -----------------------===//

#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <cstring>
#include <sys/mman.h>

namespace pipemesh::cuda::standin {

namespace {

constexpr uint64_t kAlignment = 512;

struct Table {
  std::map<uint64_t, Allocation> all;
  /// Addresses that have nothing behind them, of record mode.
  uint64_t next = uint64_t(0x7) << 44;
};

Table &table() {
  static Table &made = *new Table;
  return made;
}

uint64_t map(uint64_t bytes) {
  void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(made);
}

} // namespace

uint64_t allocate(CUcontext context, uint64_t bytes) {
  uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes || context->bytes + rounded > options().memory)
    return 0;
  uint64_t address = 0;
  if (options().isComputing) {
    address = map(rounded);
    // What was not written is no number.
    if (address)
      std::memset(hostOf(address), 0xff, rounded);
  } else {
    address = table().next;
    table().next += (rounded + (uint64_t(2) << 20)) / 4096 * 4096;
  }
  if (!address)
    return 0;
  context->bytes += rounded;
  table().all[address] = {address, bytes, false, context};
  return address;
}

uint64_t allocatePinned(CUcontext context, uint64_t bytes) {
  uint64_t address = map(bytes);
  if (address)
    table().all[address] = {address, bytes, true, context};
  return address;
}

bool release(uint64_t address, bool isPinned) {
  auto it = table().all.find(address);
  if (it == table().all.end() || it->second.isPinned != isPinned)
    return false;
  Allocation freed = it->second;
  table().all.erase(it);
  uint64_t rounded = (freed.bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (!isPinned)
    freed.context->bytes -= rounded;
  // What may still be in use stays mapped.
  if ((isPinned || options().isComputing) && isIdle())
    munmap(hostOf(address), isPinned ? freed.bytes : rounded);
  return true;
}

const Allocation *find(uint64_t address) {
  auto it = table().all.upper_bound(address);
  if (it == table().all.begin())
    return nullptr;
  --it;
  return address - it->first < it->second.bytes ? &it->second : nullptr;
}

bool isAllocated(uint64_t address, uint64_t bytes) {
  if (bytes == 0)
    return true;
  const Allocation *found = find(address);
  return found && bytes <= found->bytes - (address - found->address);
}

bool isPinned(const void *host, uint64_t bytes) {
  uint64_t address = reinterpret_cast<uint64_t>(host);
  const Allocation *found = find(address);
  return found && found->isPinned && bytes <= found->bytes - (address - found->address);
}

} // namespace pipemesh::cuda::standin
