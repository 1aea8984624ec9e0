//===- Instruction.cpp - What an instruction of the tables is -------------===//

#include "core/Instruction.h"

#include <cstring>

namespace pipemesh::runtime {

uint64_t dtypeSize(uint32_t dtype) {
  switch (dtype) {
  case PMRT_C128:
    return 16;
  case PMRT_F64:
  case PMRT_I64:
  case PMRT_U64:
  case PMRT_C64:
    return 8;
  case PMRT_BF16:
  case PMRT_F16:
  case PMRT_I16:
  case PMRT_U16:
    return 2;
  case PMRT_I1:
  case PMRT_I8:
  case PMRT_U8:
    return 1;
  default:
    return 4;
  }
}

std::string dtypeName(uint32_t dtype) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16", "i32",
                                      "i64", "i1",  "u32",  "u64", "i8",
                                      "u8",  "i16", "u16",  "c64", "c128"};
  return dtype < std::size(names) ? names[dtype] : cat("type ", dtype);
}

const char *collectiveName(uint32_t opcode) {
  return opcode == PMRT_OP_ALL_GATHER       ? "all-gather"
         : opcode == PMRT_OP_REDUCE_SCATTER ? "reduce-scatter"
         : opcode == PMRT_OP_ALL_TO_ALL     ? "all-to-all"
         : opcode == PMRT_OP_PERMUTE        ? "permute"
                                            : "all-reduce";
}

std::string describe(const pmrt_instruction &instruction) {
  std::string text;
  switch (instruction.opcode) {
  case PMRT_OP_GEMM:
    text = "gemm";
    break;
  case PMRT_OP_KERNEL:
    text = cat("kernel '", kernelOf(instruction).name, "'");
    break;
  case PMRT_OP_ALL_REDUCE:
    text = "all-reduce";
    break;
  case PMRT_OP_ALL_GATHER:
    text = "all-gather";
    break;
  case PMRT_OP_REDUCE_SCATTER:
    text = "reduce-scatter";
    break;
  case PMRT_OP_ALL_TO_ALL:
    text = "all-to-all";
    break;
  case PMRT_OP_PERMUTE:
    text = "permute";
    break;
  case PMRT_OP_COPY:
    text = "copy";
    break;
  case PMRT_OP_JUMP:
    text = "jump";
    break;
  case PMRT_OP_SWITCH:
    text = "switch";
    break;
  case PMRT_OP_ATTENTION:
    text = static_cast<const pmrt_attention *>(instruction.descriptor)->gradient
               ? "the gradient of attention"
               : "attention";
    break;
  case PMRT_OP_WAIT:
    text = cat("the wait for what was started as event ", instruction.event);
    break;
  default:
    text = "zero";
  }
  if (instruction.location && *instruction.location)
    text += cat(" at ", instruction.location);
  return text;
}

double attentionFlops(const pmrt_instruction &instruction) {
  const auto &a = *static_cast<const pmrt_attention *>(instruction.descriptor);
  double product = 2.0 * static_cast<double>(a.batch * a.heads) *
                   static_cast<double>(a.queries * a.keys) *
                   static_cast<double>(a.size);
  return (a.gradient ? 5 : 2) * product;
}

uint64_t targetOf(const pmrt_instruction &instruction, const void *index) {
  const auto &jump = *static_cast<const pmrt_jump *>(instruction.descriptor);
  if (instruction.opcode == PMRT_OP_JUMP)
    return jump.targets[0];
  int64_t number = 0;
  if (jump.dtype == PMRT_I1) {
    number = *static_cast<const uint8_t *>(index) != 0;
  } else {
    int32_t value;
    std::memcpy(&value, index, sizeof(value));
    number = value;
  }
  if (number < 0 || number >= static_cast<int64_t>(jump.num_targets))
    number = jump.num_targets - 1;
  return jump.targets[number];
}

std::string laneText(const Mesh &mesh, const pmrt_communicator &communicator) {
  std::string text;
  for (uint32_t i = 0; i < communicator.num_axes; ++i)
    text += cat(i ? ", " : "", mesh.getAxes()[communicator.axes[i]].name);
  return communicator.lane ? text + " (started)" : text;
}

uint32_t dtypeOf(const pmrt_instruction &instruction) {
  return instruction.opcode == PMRT_OP_ALL_TO_ALL
             ? allToAllOf(instruction).dtype
         : instruction.opcode == PMRT_OP_PERMUTE
             ? permuteOf(instruction).dtype
             : collectiveOf(instruction).dtype;
}

} // namespace pipemesh::runtime
