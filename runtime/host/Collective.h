//===- Collective.h - What a collective moves, whoever carries it ---------===//

#ifndef PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
#define PIPEMESH_RUNTIME_HOST_COLLECTIVE_H

#include "core/Instruction.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pipemesh::runtime {

/// What the members of a collective must agree on; plain bytes, so that one
/// process can send it to another.
struct Signature {
  uint32_t opcode, sequence, dtype, reduction, numOperands;
  uint32_t run; ///< the member's how manieth collective of the communicator
  uint64_t outer, elements; ///< elements of all counts
  uint64_t counts;          ///< a digest of each of them
};

Signature signatureOf(const pmrt_instruction &instruction, uint64_t run);

/// A collective of an element less, to see that it is found.
struct ShorterCollective {
  explicit ShorterCollective(const pmrt_instruction &whole);
  ShorterCollective(const ShorterCollective &) = delete;
  ShorterCollective &operator=(const ShorterCollective &) = delete;

  pmrt_instruction instruction;
  pmrt_collective collective{};
  pmrt_all_to_all exchange{};
  pmrt_permute permute{};
  std::vector<uint64_t> counts;
};

/// Why two members cannot meet; empty when they can.
std::string mismatch(const Signature &a, const Signature &b);

/// What a member brings to a collective.
struct Brought {
  int64_t rank;
  Signature signature;
  std::string text; ///< describe()
};

/// Throws an Error with `mismatchStatus` where the members cannot meet. It names
/// those that differ from most, what they bring and what the others do.
void checkMeeting(const std::vector<Brought> &members);

/// Calls run(before, after, count) for each contiguous run of the elements that
/// member `from` sends to member `to`: where they begin in the operand of the
/// one and in the result of the other. Runs are in the same order for both.
template <typename Run>
void forEachRun(const pmrt_all_to_all &exchange, int64_t from, int64_t to,
                Run run) {
  auto concatBegin = from * static_cast<int64_t>(exchange.concat_piece);
  auto splitBegin = to * static_cast<int64_t>(exchange.split_piece);
  int64_t concat = pieceOf(exchange.concat_size, exchange.concat_piece, from);
  int64_t split = pieceOf(exchange.split_size, exchange.split_piece, to);
  if (concat <= 0 || split <= 0)
    return;
  bool splitFirst = exchange.split_first != 0;
  // The first of the two dimensions is walked along, the second one and what
  // lies inside of it are a run.
  int64_t firsts = splitFirst ? split : concat;
  int64_t length =
      (splitFirst ? concat : split) * static_cast<int64_t>(exchange.inner);
  for (uint64_t outer = 0; outer < exchange.outer; ++outer)
    for (int64_t first = 0; first < firsts; ++first)
      for (uint64_t middle = 0; middle < exchange.middle; ++middle) {
        int64_t before, after;
        if (splitFirst) {
          before = ((outer * exchange.split_size + splitBegin + first) *
                        exchange.middle +
                    middle) *
                   exchange.concat_piece;
          after = ((outer * exchange.split_piece + first) * exchange.middle +
                   middle) *
                      exchange.concat_size +
                  concatBegin;
        } else {
          before = ((outer * exchange.concat_piece + first) * exchange.middle +
                    middle) *
                       exchange.split_size +
                   splitBegin;
          after = ((outer * exchange.concat_size + concatBegin + first) *
                       exchange.middle +
                   middle) *
                  exchange.split_piece;
        }
        run(before * static_cast<int64_t>(exchange.inner),
            after * static_cast<int64_t>(exchange.inner), length);
      }
}

/// Bytes of one rank's operands: all of the bucket of an all-reduce, the block
/// of an all-gather, the whole of a reduce-scatter, what a rank has before an
/// all-to-all or a permute.
uint64_t operandBytes(const pmrt_instruction &instruction);

/// Bytes that one rank sends in a collective of `members` ranks by the usual
/// algorithms: all-reduce 2(n-1)/n of the operand, all-gather n-1 operands,
/// reduce-scatter and all-to-all (n-1)/n of it, padded to equal pieces; a
/// permute what other members get of this one.
double wireBytes(const pmrt_instruction &instruction, int64_t members,
                 int64_t member);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
