//===- Memory.cpp - What a rank has allocated -----------------------------===//

#include "trace/Memory.h"

#include "trace/Timeline.h"

#include <algorithm>

namespace pipemesh::trace {

template <typename... Args>
void Memory::refuse(const char *rule, const Call &call,
                    const Args &...args) const {
  refusals.add(rule, placeOf(trace, rank, call), args...);
}

void Memory::allocate(const Call &call, bool isHost) {
  if (call.count > ~call.address) {
    refuse("trace", call, " gives ", call.count, " bytes at ", call.address);
    return;
  }
  auto next = blocks.lower_bound(call.address);
  bool overlaps =
      next != blocks.end() && next->first < call.address + call.count;
  if (next != blocks.begin()) {
    auto last = std::prev(next);
    overlaps |= last->first + last->second.bytes > call.address;
  }
  if (overlaps)
    refuse("trace", call, " gives ", call.count, " bytes at ", call.address,
           ", of which some are allocated already");
  blocks[call.address] = {call.count, isHost};
  if (isHost) {
    hostBlocks[call.other] = call.address;
    return;
  }
  ++allocations;
  bytes += call.count;
  mostBytes = std::max(mostBytes, bytes);
  ofDevice.push_back({call.address, call.address + call.count});
  if (limit && bytes > limit)
    refuse("memory", call, " of ", call.count, " bytes makes ", bytes,
           ", but the bundle gives a rank ", limit);
}

void Memory::follow(const Call &call) {
  auto unknown = [&](uint64_t address) {
    refuse("memory", call, " frees ", address,
           ", at which nothing is allocated");
  };
  switch (call.kind) {
  case Kind::MemAlloc:
  case Kind::HostAlloc:
    allocate(call, call.kind == Kind::HostAlloc);
    break;
  case Kind::MemFree: {
    auto found = blocks.find(call.address);
    if (found == blocks.end() || found->second.isHost)
      return unknown(call.address);
    bytes -= found->second.bytes;
    blocks.erase(found);
    break;
  }
  case Kind::HostFree: {
    auto found = hostBlocks.find(call.other);
    if (found == hostBlocks.end())
      return unknown(call.other);
    if (found->second == progress)
      hasProgress = false;
    blocks.erase(found->second);
    hostBlocks.erase(found);
    break;
  }
  default:
    break;
  }
}

void Memory::check(const Call &call, const Slice &slice,
                   const char *what) const {
  for (uint32_t i = 0; i < slice.count; ++i) {
    const Range &range = trace.ranges[slice.first + i];
    auto found = blocks.upper_bound(range.begin);
    if (found != blocks.begin()) {
      --found;
      if (range.end <= found->first + found->second.bytes)
        continue;
    }
    refuse("memory", call, " ", what, " bytes [", range.begin, ", ", range.end,
           "), which lie in nothing that the rank has allocated");
  }
}

void Memory::check(const Call &call) const {
  check(call, call.reads, "reads");
  check(call, call.writes, "writes");
}

uint64_t Memory::wordOf(const Call &call) {
  auto found = blocks.upper_bound(call.address);
  if (found == blocks.begin())
    return ~0ull;
  --found;
  if (!found->second.isHost || call.address % 4 ||
      call.address + 4 > found->first + found->second.bytes)
    return ~0ull;
  if (!hasProgress) {
    hasProgress = true;
    progress = found->first;
  }
  return found->first == progress ? (call.address - progress) / 4 : ~0ull;
}

} // namespace pipemesh::trace
