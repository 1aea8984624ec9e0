//===- Collective.cpp - Reductions between the ranks of a process ---------===//

#include "host/Collective.h"

#include "host/Program.h"
#include "host/Reduce.h"

#include <algorithm>
#include <ctime>

namespace pipemesh::runtime {

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + now.tv_nsec;
}

/// Why two members cannot meet in these instructions; empty when they can.
static std::string mismatch(const pmrt_instruction &a,
                            const pmrt_instruction &b) {
  const pmrt_collective &x = collectiveOf(a), &y = collectiveOf(b);
  if (x.sequence != y.sequence)
    return cat("number ", x.sequence, " against ", y.sequence);
  if (x.dtype != y.dtype)
    return cat("type ", x.dtype, " against ", y.dtype);
  if (x.reduction != y.reduction)
    return cat("reduction ", x.reduction, " against ", y.reduction);
  if (a.num_operands != b.num_operands)
    return cat(a.num_operands, " operands against ", b.num_operands);
  for (uint32_t i = 0; i < a.num_operands; ++i)
    if (x.counts[i] != y.counts[i])
      return cat(x.counts[i], " elements against ", y.counts[i]);
  return "";
}

uint64_t Group::allReduce(int64_t member, const pmrt_instruction &instruction,
                          void *const *pointers, ThreadPool &pool) {
  if (ranks.size() < 2)
    return 0;
  calls[member] = {&instruction, pointers};
  uint64_t start = nanoseconds();
  barrier.wait();
  uint64_t waited = nanoseconds() - start;

  if (calls[0].instruction != &instruction) {
    std::string problem = mismatch(*calls[0].instruction, instruction);
    if (!problem.empty())
      fail(describe(instruction), " meets ", describe(*calls[0].instruction),
           " of rank ", ranks[0], ": ", problem);
  }

  // The operands are one sequence of elements, cut at multiples of a line of
  // the cache.
  const pmrt_collective &collective = collectiveOf(instruction);
  constexpr int64_t unit = 16;
  int64_t total = 0;
  for (uint32_t i = 0; i < instruction.num_operands; ++i)
    total += collective.counts[i];
  int64_t units = (total + unit - 1) / unit;
  auto edge = [&](int64_t part, int64_t parts, int64_t from, int64_t to) {
    return from + (to - from) * part / parts;
  };
  int64_t members = size();
  int64_t firstUnit = edge(member, members, 0, units);
  int64_t lastUnit = edge(member + 1, members, 0, units);
  constexpr int64_t leastUnits = 4096;
  int64_t parts = std::clamp<int64_t>((lastUnit - firstUnit) / leastUnits, 1,
                                      pool.threads());
  pool.run(parts, [&](int64_t part, int) {
    int64_t begin = edge(part, parts, firstUnit, lastUnit) * unit;
    int64_t end =
        std::min(edge(part + 1, parts, firstUnit, lastUnit) * unit, total);
    std::vector<void *> arrays(members);
    int64_t base = 0;
    for (uint32_t i = 0; i < instruction.num_operands; ++i) {
      int64_t count = collective.counts[i];
      int64_t first = std::max(begin - base, int64_t(0));
      int64_t last = std::min(end - base, count);
      base += count;
      if (first >= last)
        continue;
      for (int64_t other = 0; other < members; ++other)
        arrays[other] = calls[other].pointers[i];
      reduceInPlace(arrays.data(), members, first, last, collective.dtype,
                    collective.reduction);
    }
  });

  start = nanoseconds();
  barrier.wait();
  return waited + nanoseconds() - start;
}

} // namespace pipemesh::runtime
