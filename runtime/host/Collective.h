//===- Collective.h - What a collective moves, whoever carries it ---------===//

#ifndef PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
#define PIPEMESH_RUNTIME_HOST_COLLECTIVE_H

#include "pmrt/pmrt.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace pipemesh::runtime {

/// Size of an element of a pmrt_dtype.
uint64_t dtypeSize(uint32_t dtype);

/// "all-reduce", "all-gather", "reduce-scatter".
const char *collectiveName(uint32_t opcode);

/// What the members of a collective must agree on; plain bytes, so that one
/// process can send it to another.
struct Signature {
  uint32_t opcode, sequence, dtype, reduction, numOperands, unused;
  uint64_t outer, elements; ///< elements of all counts
  uint64_t counts;          ///< a digest of each of them
};

Signature signatureOf(const pmrt_instruction &instruction);

/// Why two members cannot meet; empty when they can.
std::string mismatch(const Signature &a, const Signature &b);

/// Elements of member `index`'s piece in a row of an all-gather or a
/// reduce-scatter, without its padding.
inline int64_t pieceElements(const pmrt_collective &collective, int64_t index) {
  auto piece = static_cast<int64_t>(collective.counts[0]);
  auto row = static_cast<int64_t>(collective.counts[1]);
  return std::clamp<int64_t>(row - index * piece, 0, piece);
}

/// Bytes of one rank's operands: all of the bucket of an all-reduce, the block
/// of an all-gather, the whole of a reduce-scatter.
uint64_t operandBytes(const pmrt_instruction &instruction);

/// Bytes that one rank sends in a collective of `members` ranks by the usual
/// algorithms: all-reduce 2(n-1)/n of the operand, all-gather n-1 operands,
/// reduce-scatter (n-1)/n of it.
double wireBytes(const pmrt_instruction &instruction, int64_t members);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
