//===- Names.cpp - What the places of a program are called ----------------===//

#include "check/Tables.h"

namespace pipemesh::proof {

uint64_t elementBytes(uint32_t dtype) {
  static constexpr uint8_t sizes[] = {4, 8, 2, 2, 4, 8, 1, 4,
                                      8, 1, 1, 2, 2, 8, 16};
  return dtype < std::size(sizes) ? sizes[dtype] : 0;
}

std::string dtypeText(uint32_t dtype) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16", "i32",
                                      "i64", "i1",  "u32",  "u64", "i8",
                                      "u8",  "i16", "u16",  "c64", "c128"};
  return dtype < std::size(names) ? names[dtype] : cat("type ", dtype);
}

const char *opcodeText(uint32_t opcode) {
  static const char *const names[] = {
      "operation",  "gemm",           "kernel",     "all-reduce",
      "copy",       "zero",           "all-gather", "reduce-scatter",
      "all-to-all", "permute",        "jump",       "switch",
      "wait",       "attention"};
  return opcode < std::size(names) ? names[opcode] : names[0];
}

const char *kindText(uint32_t kind) {
  static const char *const names[] = {
      "prologue", "forward", "input_gradient", "weight_gradient",
      "backward", "reduce",  "update"};
  return kind < std::size(names) ? names[kind] : "fragment";
}

bool isCollective(const pmrt_instruction &instruction) {
  switch (instruction.opcode) {
  case PMRT_OP_ALL_REDUCE:
  case PMRT_OP_ALL_GATHER:
  case PMRT_OP_REDUCE_SCATTER:
  case PMRT_OP_ALL_TO_ALL:
  case PMRT_OP_PERMUTE:
    return true;
  default:
    return false;
  }
}

bool isJump(const pmrt_instruction &instruction) {
  return instruction.opcode == PMRT_OP_JUMP ||
         instruction.opcode == PMRT_OP_SWITCH;
}

uint32_t communicatorOf(const pmrt_instruction &instruction) {
  // The first field of all three descriptors.
  return *static_cast<const uint32_t *>(instruction.descriptor);
}

uint32_t dtypeOf(const pmrt_instruction &instruction) {
  return static_cast<const uint32_t *>(instruction.descriptor)[1];
}

bool runsOnce(const pmrt_body &body) {
  return body.kind == PMRT_PROLOGUE || body.kind == PMRT_REDUCE ||
         body.kind == PMRT_UPDATE;
}

uint64_t membersOf(const pmrt_role &role, uint32_t communicator) {
  const pmrt_communicator &info = role.communicators[communicator];
  uint64_t members = 1;
  for (uint32_t i = 0; i < info.num_axes; ++i)
    members *= role.axes[info.axes[i]].size;
  return members;
}

bool spansRoles(const pmrt_role &role, uint32_t communicator) {
  const pmrt_communicator &info = role.communicators[communicator];
  for (uint32_t i = 0; i < info.num_axes; ++i)
    if (role.axes[info.axes[i]].kind == 2 && role.axes[info.axes[i]].size > 1)
      return true;
  return false;
}

std::string describe(const pmrt_instruction &instruction) {
  std::string text = opcodeText(instruction.opcode);
  if (instruction.opcode == PMRT_OP_KERNEL && instruction.descriptor)
    text += cat(" '",
                static_cast<const pmrt_kernel *>(instruction.descriptor)->name,
                "'");
  if (instruction.location && *instruction.location)
    text += cat(" at ", instruction.location);
  return text;
}

std::string describe(const Role &role, uint32_t body, uint64_t instruction) {
  const pmrt_body &of = role.table.bodies[body];
  return cat("role ", role.number, ", '", of.name, "', instruction ",
             instruction, " (", describe(of.instructions[instruction]), ")");
}

std::string describe(const Role &role, uint64_t action) {
  const pmrt_action &of = role.table.actions[action];
  std::string text = cat("role ", role.number, ", action ", action, ": ");
  if (of.kind == PMRT_RUN)
    return text + cat("'", role.table.bodies[of.index].name,
                      "' of micro-batch ", of.micro_batch);
  bool send = of.kind == PMRT_SEND;
  return text + cat(send ? "send of '" : "receive of '",
                    role.table.buffers[of.index].name, "' of micro-batch ",
                    of.micro_batch, send ? " to role " : " from role ", of.peer,
                    " on channel ", of.channel);
}

} // namespace pipemesh::proof
