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
  /// Of an all-to-all, and the sources of a permute.
  pmrt_all_to_all exchange = {};
  std::vector<int32_t> sources = {};
  int64_t parts = 1;
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

/// A tensor of outer x a x middle x b x inner, of which the members hold pieces of
/// one dimension before and of the other one after. Which element is where is
/// computed index by index.
inline CollectiveCase allToAllCase(int64_t members, bool splitFirst,
                                   uint64_t split, uint64_t concat,
                                   uint64_t outer, uint64_t middle,
                                   uint64_t inner) {
  auto parts = static_cast<uint64_t>(members);
  CollectiveCase made{"all-to-all", PMRT_OP_ALL_TO_ALL, {split, concat}, outer,
                      {}, {}};
  uint64_t splitPiece = (split + parts - 1) / parts;
  uint64_t concatPiece = (concat + parts - 1) / parts;
  made.exchange = {0,     PMRT_F32, 0,     splitFirst ? 1u : 0u,
                   outer, middle,   inner, split,
                   splitPiece, concat, concatPiece};
  auto place = [&](uint64_t o, uint64_t s, uint64_t m, uint64_t c, uint64_t i,
                   uint64_t splits, uint64_t concats) {
    uint64_t first = splitFirst ? s : c, second = splitFirst ? c : s;
    uint64_t firsts = splitFirst ? splits : concats;
    uint64_t seconds = splitFirst ? concats : splits;
    return (((o * firsts + first) * middle + m) * seconds + second) * inner + i;
  };
  uint64_t rest = outer * middle * inner;
  for (uint64_t m = 0; m < parts; ++m) {
    made.operands.push_back(
        {memberValues(rest * split * concatPiece, m + 1),
         std::vector<float>(rest * splitPiece * concat, untouched)});
    made.expected.push_back(made.operands.back());
  }
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t s = 0; s < split; ++s)
      for (uint64_t m = 0; m < middle; ++m)
        for (uint64_t c = 0; c < concat; ++c)
          for (uint64_t i = 0; i < inner; ++i)
            made.expected[s / splitPiece][1][place(o, s % splitPiece, m, c, i,
                                                   splitPiece, concat)] =
                made.operands[c / concatPiece][0][place(
                    o, s, m, c % concatPiece, i, split, concatPiece)];
  return made;
}

/// The last member gets zero, where there are several; others what stands
/// `shift` members behind them, and of each further part one member further.
inline CollectiveCase permuteCase(int64_t members, int64_t shift,
                                  uint64_t count, int64_t parts = 1) {
  CollectiveCase made{"permute", PMRT_OP_PERMUTE, {count}, 1, {}, {}};
  made.parts = parts;
  for (int64_t m = 0; m < members; ++m)
    made.operands.push_back({memberValues(count, m + 1),
                             std::vector<float>(count, untouched)});
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t m = 0; m < members; ++m)
      made.sources.push_back(
          m > 0 && m + 1 == members
              ? -1
              : static_cast<int32_t>((m + shift + part) % members));
  for (int64_t m = 0; m < members; ++m) {
    std::vector<float> expected(count, 0);
    for (uint64_t i = 0; i < count; ++i)
      if (int32_t source = made.sources[i / (count / parts) * members + m];
          source >= 0)
        expected[i] = made.operands[source][0][i];
    made.expected.push_back({made.operands[m][0], std::move(expected)});
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
          reduceScatterCase(members, 50000, 50000 * parts - 1, 1),
          allToAllCase(members, true, 4 * parts, 2 * parts, 1, 1, 1),
          allToAllCase(members, false, 2 * parts, 3 * parts, 2, 3, 2),
          allToAllCase(members, true, 7, 5, 2, 1, 3),
          allToAllCase(members, false, 3, 10, 1, 2, 1),
          allToAllCase(members, true, 301, 203, 2, 2, 1),
          allToAllCase(members, false, 130, 97, 3, 1, 5),
          permuteCase(members, 1, 100),
          permuteCase(members, 0, 7),
          permuteCase(members, members - 1, 70001),
          permuteCase(members, 0, 6, 3),
          permuteCase(members, 1, 120000, 4)};
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
  pmrt_permute permute = {
      0,
      PMRT_F32,
      0,
      static_cast<uint32_t>(which.sources.size() / which.parts),
      which.counts[0],
      which.sources.data(),
      static_cast<uint64_t>(which.parts)};
  if (which.opcode == PMRT_OP_ALL_TO_ALL)
    instruction.descriptor = &which.exchange;
  else if (which.opcode == PMRT_OP_PERMUTE)
    instruction.descriptor = &permute;
  instruction.location = "here";
  std::vector<std::vector<float>> own = which.operands[member];
  std::vector<void *> pointers;
  for (std::vector<float> &operand : own)
    pointers.push_back(operand.data());
  ThreadPool pool(threads, 0);
  group.run(member, 1, instruction, pointers.data(), pool, {});
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
