//===- Instruction.h - What an instruction of the tables is ---------------===//

#ifndef PIPEMESH_RUNTIME_CORE_INSTRUCTION_H
#define PIPEMESH_RUNTIME_CORE_INSTRUCTION_H

#include "core/Mesh.h"
#include "pmrt/pmrt.h"

#include <algorithm>
#include <string>

namespace pipemesh::runtime {

/// Size of an element of a pmrt_dtype.
uint64_t dtypeSize(uint32_t dtype);
/// Its name: "f32".
std::string dtypeName(uint32_t dtype);

/// "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "permute".
const char *collectiveName(uint32_t opcode);

inline bool isCollective(const pmrt_instruction &instruction) {
  return instruction.opcode == PMRT_OP_ALL_REDUCE ||
         instruction.opcode == PMRT_OP_ALL_GATHER ||
         instruction.opcode == PMRT_OP_REDUCE_SCATTER ||
         instruction.opcode == PMRT_OP_ALL_TO_ALL ||
         instruction.opcode == PMRT_OP_PERMUTE;
}

inline bool runsOnce(const pmrt_body &body) {
  return body.kind == PMRT_PROLOGUE || body.kind == PMRT_REDUCE ||
         body.kind == PMRT_UPDATE;
}

/// "kernel 'rms_norm' at model.layers.0.input_layernorm".
std::string describe(const pmrt_instruction &instruction);

/// Of a PMRT_OP_ATTENTION; a multiply-add counts as two.
double attentionFlops(const pmrt_instruction &instruction);

/// The axes of a communicator: "dp", "dp, tp"; with " (started)" behind them
/// where it is that of collectives that go on beside.
std::string laneText(const Mesh &mesh, const pmrt_communicator &communicator);

/// The kernel of an instruction that runs one.
inline const pmrt_kernel &kernelOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_kernel *>(instruction.descriptor);
}

/// Where a jump, or a switch by the element at `index`, goes on.
uint64_t targetOf(const pmrt_instruction &instruction, const void *index);

/// Of an all-reduce, an all-gather or a reduce-scatter.
inline const pmrt_collective &
collectiveOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_collective *>(instruction.descriptor);
}

inline const pmrt_all_to_all &allToAllOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_all_to_all *>(instruction.descriptor);
}

inline const pmrt_permute &permuteOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_permute *>(instruction.descriptor);
}

/// Of any collective.
inline uint32_t communicatorOf(const pmrt_instruction &instruction) {
  switch (instruction.opcode) {
  case PMRT_OP_ALL_TO_ALL:
    return allToAllOf(instruction).communicator;
  case PMRT_OP_PERMUTE:
    return permuteOf(instruction).communicator;
  default:
    return collectiveOf(instruction).communicator;
  }
}

/// pmrt_dtype of what a collective moves.
uint32_t dtypeOf(const pmrt_instruction &instruction);

/// Elements of member `index`'s piece in a row of an all-gather or a
/// reduce-scatter, without its padding.
inline int64_t pieceElements(const pmrt_collective &collective, int64_t index) {
  auto piece = static_cast<int64_t>(collective.counts[0]);
  auto row = static_cast<int64_t>(collective.counts[1]);
  return std::clamp<int64_t>(row - index * piece, 0, piece);
}

/// The part of a dimension of `size` that the pieces of a member have.
inline int64_t pieceOf(uint64_t size, uint64_t piece, int64_t index) {
  return std::clamp<int64_t>(static_cast<int64_t>(size) -
                                 index * static_cast<int64_t>(piece),
                             0, static_cast<int64_t>(piece));
}

/// Elements that one member of an all-to-all sends to another (or keeps).
inline int64_t exchangedElements(const pmrt_all_to_all &exchange, int64_t from,
                                 int64_t to) {
  return static_cast<int64_t>(exchange.outer * exchange.middle *
                              exchange.inner) *
         pieceOf(exchange.concat_size, exchange.concat_piece, from) *
         pieceOf(exchange.split_size, exchange.split_piece, to);
}

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_INSTRUCTION_H
