//===- CollectiveCases.h - Collectives with known results -----------------===//

#ifndef PIPEMESH_TEST_RUNTIME_COLLECTIVECASES_H
#define PIPEMESH_TEST_RUNTIME_COLLECTIVECASES_H

#include "host/Transport.h"

#include <cstring>
#include <functional>

namespace pipemesh::runtime::test {

/// A collective, what each member brings, and what it must have afterwards,
/// computed in the order of the members.
struct CollectiveCase {
  std::string name;
  uint32_t opcode;
  std::vector<uint64_t> counts;
  uint64_t outer = 1;
  /// Operands of each member; the last one of a gather or a scatter is the
  /// result, filled with `untouched`.
  std::vector<std::vector<std::vector<float>>> operands;
  std::vector<std::vector<std::vector<float>>> expected;
};

inline constexpr float untouched = -77;

/// Values that look random, differ between members, and round when added.
inline std::vector<float> memberValues(uint64_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state)) / 1e9f;
  }
  return values;
}

inline CollectiveCase allReduceCase(int64_t members,
                                    std::vector<uint64_t> counts) {
  CollectiveCase made{"all-reduce", PMRT_OP_ALL_REDUCE, counts, 1, {}, {}};
  made.operands.resize(members);
  std::vector<std::vector<float>> sums;
  for (size_t o = 0; o < counts.size(); ++o) {
    for (int64_t m = 0; m < members; ++m)
      made.operands[m].push_back(memberValues(counts[o], 10 * o + m + 1));
    std::vector<float> sum = made.operands[0][o];
    for (int64_t m = 1; m < members; ++m)
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += made.operands[m][o][i];
    sums.push_back(sum);
  }
  made.expected.assign(members, sums);
  return made;
}

/// Pieces of `piece` elements in rows of `row`, of which the last ones may be
/// short or empty.
inline CollectiveCase allGatherCase(int64_t members, uint64_t piece,
                                    uint64_t row, uint64_t outer) {
  CollectiveCase made{
      "all-gather", PMRT_OP_ALL_GATHER, {piece, row}, outer, {}, {}};
  std::vector<float> whole(outer * row, untouched);
  for (int64_t m = 0; m < members; ++m) {
    std::vector<float> block = memberValues(outer * piece, m + 1);
    for (uint64_t r = 0; r < outer; ++r)
      for (uint64_t i = 0; i < piece && m * piece + i < row; ++i)
        whole[r * row + m * piece + i] = block[r * piece + i];
    made.operands.push_back(
        {block, std::vector<float>(outer * row, untouched)});
  }
  for (int64_t m = 0; m < members; ++m)
    made.expected.push_back({made.operands[m][0], whole});
  return made;
}

inline CollectiveCase reduceScatterCase(int64_t members, uint64_t piece,
                                        uint64_t row, uint64_t outer) {
  CollectiveCase made{
      "reduce-scatter", PMRT_OP_REDUCE_SCATTER, {piece, row}, outer, {}, {}};
  for (int64_t m = 0; m < members; ++m)
    made.operands.push_back({memberValues(outer * row, m + 1),
                             std::vector<float>(outer * piece, untouched)});
  for (int64_t m = 0; m < members; ++m) {
    std::vector<float> block(outer * piece, untouched);
    for (uint64_t r = 0; r < outer; ++r)
      for (uint64_t i = 0; i < piece && m * piece + i < row; ++i) {
        float sum = made.operands[0][0][r * row + m * piece + i];
        for (int64_t other = 1; other < members; ++other)
          sum += made.operands[other][0][r * row + m * piece + i];
        block[r * piece + i] = sum;
      }
    made.expected.push_back({made.operands[m][0], block});
  }
  return made;
}

/// Small ones and large ones, rows with padding and pieces that are empty.
inline std::vector<CollectiveCase> collectiveCases(int64_t members) {
  auto parts = static_cast<uint64_t>(members);
  return {allReduceCase(members, {1}),
          allReduceCase(members, {5000}),
          allReduceCase(members, {17, 40000, 3}),
          allGatherCase(members, 5, 5 * parts, 3),
          allGatherCase(members, 7, 7 * parts - 4, 1),
          allGatherCase(members, 9, 10, 4),
          allGatherCase(members, 3000, 3000 * parts - 700, 5),
          reduceScatterCase(members, 4, 4 * parts, 2),
          reduceScatterCase(members, 6, 7, 3),
          reduceScatterCase(members, 2500, 2500 * parts - 900, 4),
          reduceScatterCase(members, 50000, 50000 * parts - 1, 1)};
}

/// Runs a case as one member; returns what is wrong with the result, or "".
inline std::string runCase(const CollectiveCase &which, Group &group,
                           int64_t member, int threads) {
  pmrt_collective collective = {
      0, PMRT_F32, PMRT_SUM, 0, which.counts.data(), which.outer};
  pmrt_instruction instruction = {};
  instruction.opcode = which.opcode;
  instruction.num_operands = which.operands[member].size();
  instruction.descriptor = &collective;
  instruction.location = "here";
  std::vector<std::vector<float>> own = which.operands[member];
  std::vector<void *> pointers;
  for (std::vector<float> &operand : own)
    pointers.push_back(operand.data());
  ThreadPool pool(threads, 0);
  group.run(member, instruction, pointers.data(), pool, {});
  for (size_t o = 0; o < own.size(); ++o)
    for (size_t i = 0; i < own[o].size(); ++i)
      if (std::memcmp(&own[o][i], &which.expected[member][o][i], 4) != 0)
        return cat(which.name, " of ", which.counts[0], " elements, ",
                   which.outer, " rows: member ", member, ", operand ", o,
                   ", element ", i, " is ", own[o][i], ", not ",
                   which.expected[member][o][i]);
  return "";
}

} // namespace pipemesh::runtime::test

#endif // PIPEMESH_TEST_RUNTIME_COLLECTIVECASES_H
