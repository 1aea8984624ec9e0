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

Signature signatureOf(const pmrt_instruction &instruction) {
  const pmrt_collective &collective = collectiveOf(instruction);
  Signature signature = {};
  signature.opcode = instruction.opcode;
  signature.sequence = collective.sequence;
  signature.dtype = collective.dtype;
  signature.reduction = collective.reduction;
  signature.numOperands = instruction.num_operands;
  bool reduce = instruction.opcode == PMRT_OP_ALL_REDUCE;
  signature.outer = reduce ? 1 : collective.outer;
  // FNV-1a over whole counts.
  signature.counts = 14695981039346656037u;
  for (uint32_t i = 0; i < instruction.num_operands; ++i) {
    signature.elements += collective.counts[i];
    signature.counts =
        (signature.counts ^ collective.counts[i]) * 1099511628211u;
  }
  return signature;
}

std::string mismatch(const Signature &a, const Signature &b) {
  if (a.opcode != b.opcode)
    return "they are of two kinds";
  if (a.sequence != b.sequence)
    return cat("number ", a.sequence, " against ", b.sequence);
  if (a.dtype != b.dtype)
    return cat("type ", a.dtype, " against ", b.dtype);
  if (a.reduction != b.reduction)
    return cat("reduction ", a.reduction, " against ", b.reduction);
  if (a.numOperands != b.numOperands)
    return cat(a.numOperands, " operands against ", b.numOperands);
  if (a.outer != b.outer)
    return cat(a.outer, " rows against ", b.outer);
  if (a.elements != b.elements)
    return cat(a.elements, " elements against ", b.elements);
  return a.counts != b.counts ? "operands of other sizes" : "";
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
