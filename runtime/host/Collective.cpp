//===- Collective.cpp - What a collective moves, whoever carries it -------===//

#include "host/Collective.h"

#include "host/Program.h"

namespace pipemesh::runtime {

uint64_t dtypeSize(uint32_t dtype) {
  switch (dtype) {
  case PMRT_F64:
  case PMRT_I64:
  case PMRT_U64:
    return 8;
  case PMRT_BF16:
  case PMRT_F16:
    return 2;
  case PMRT_I1:
    return 1;
  default:
    return 4;
  }
}

const char *collectiveName(uint32_t opcode) {
  return opcode == PMRT_OP_ALL_GATHER       ? "all-gather"
         : opcode == PMRT_OP_REDUCE_SCATTER ? "reduce-scatter"
                                            : "all-reduce";
}

std::string mismatch(const pmrt_instruction &a, const pmrt_instruction &b) {
  const pmrt_collective &x = collectiveOf(a), &y = collectiveOf(b);
  if (a.opcode != b.opcode)
    return "they are of two kinds";
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
  if (a.opcode != PMRT_OP_ALL_REDUCE && x.outer != y.outer)
    return cat(x.outer, " rows against ", y.outer);
  return "";
}

uint64_t operandBytes(const pmrt_instruction &instruction) {
  const pmrt_collective &collective = collectiveOf(instruction);
  uint64_t size = dtypeSize(collective.dtype), elements = 0;
  if (instruction.opcode == PMRT_OP_ALL_REDUCE)
    for (uint32_t i = 0; i < instruction.num_operands; ++i)
      elements += collective.counts[i];
  else if (instruction.opcode == PMRT_OP_ALL_GATHER)
    elements = collective.outer * collective.counts[0];
  else
    elements = collective.outer * collective.counts[1];
  return elements * size;
}

double wireBytes(const pmrt_instruction &instruction, int64_t members) {
  auto bytes = static_cast<double>(operandBytes(instruction));
  auto others = static_cast<double>(members - 1);
  switch (instruction.opcode) {
  case PMRT_OP_ALL_GATHER:
    return others * bytes;
  case PMRT_OP_REDUCE_SCATTER:
    return others / static_cast<double>(members) * bytes;
  default:
    return 2 * others / static_cast<double>(members) * bytes;
  }
}

} // namespace pipemesh::runtime
