//===- Program.cpp - What the ranks of a role have to call in a step ------===//

#include "trace/Program.h"

#include <algorithm>

namespace pipemesh::trace {

using runtime::fail;

static const char *opcodeText(uint32_t opcode) {
  constexpr const char *names[] = {"?",          "matrix product", "kernel",
                                   "all-reduce", "copy",           "zero",
                                   "all-gather", "reduce-scatter", "all-to-all",
                                   "permute",    "jump",           "switch",
                                   "wait",       "attention"};
  return opcode < std::size(names) ? names[opcode] : names[0];
}

Program::Program(const runtime::Manifest &manifest, const pmrt_role &role,
                 uint32_t number)
    : role(role), info(manifest.roles.at(number)), number(number) {
  if (role.num_buffers != info.buffers.size())
    fail("role ", number, " has ", role.num_buffers,
         " buffers, but the manifest names ", info.buffers.size());
  for (uint32_t b = 0; b < role.num_buffers; ++b)
    if (info.buffers[b].kind == runtime::BufferKind::Accumulator &&
        info.buffers[b].init == runtime::BufferInit::Zero &&
        role.buffers[b].bytes)
      for (uint32_t slot = 0; slot < role.buffers[b].slots; ++slot)
        list.push_back({Expected::Clear, slot, b});
  for (uint32_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    bool isRun = action.kind == PMRT_RUN;
    if (action.kind > PMRT_RECEIVE ||
        action.index >= (isRun ? role.num_bodies : role.num_buffers))
      fail("action ", a, " of role ", number, " has kind ", action.kind,
           " and index ", action.index,
           "; prove the bundle first (pmcheck bundle)");
    if (!isRun) {
      list.push_back(
          {action.kind == PMRT_SEND ? Expected::Send : Expected::Receive, a,
           0});
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    for (uint32_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      Expected expected{Expected::Kernel, a, i};
      switch (instruction.opcode) {
      case PMRT_OP_KERNEL:
        break;
      case PMRT_OP_GEMM:
        expected.kind = Expected::Product;
        break;
      case PMRT_OP_ATTENTION:
        expected.kind = Expected::Attention;
        break;
      case PMRT_OP_COPY:
      case PMRT_OP_ZERO:
        if (instruction.operands[0].bytes == 0)
          continue;
        expected.kind = instruction.opcode == PMRT_OP_COPY ? Expected::Copy
                                                           : Expected::Zero;
        break;
      case PMRT_OP_ALL_REDUCE:
      case PMRT_OP_ALL_GATHER:
      case PMRT_OP_REDUCE_SCATTER:
        expected.kind = Expected::Collective;
        break;
      case PMRT_OP_ALL_TO_ALL:
      case PMRT_OP_PERMUTE:
        expected.kind = Expected::Exchange;
        break;
      case PMRT_OP_WAIT:
        continue;
      default:
        fail("instruction ", i, " of '", body.name, "' of role ", number,
             " is a ", opcodeText(instruction.opcode),
             ": which calls follow it is not in the tables, so that traces of "
             "this "
             "bundle cannot be checked");
      }
      list.push_back(expected);
    }
  }
  for (uint32_t b = 0; b < role.num_buffers; ++b) {
    const pmrt_buffer &buffer = role.buffers[b];
    uint64_t end =
        buffer.offset + (buffer.slots - 1) * buffer.slot_stride + buffer.bytes;
    places.push_back({buffer.offset, end, b});
    programEnd = std::max(programEnd, end);
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::pair(a.begin, a.buffer) < std::pair(b.begin, b.buffer);
  });
}

uint32_t Program::operandsOf(uint32_t expected) const {
  return list[expected].kind >= Expected::Clear
             ? 1
             : instructionOf(expected).num_operands;
}

Access Program::accessOf(uint32_t expected, uint32_t operand) const {
  if (list[expected].kind == Expected::Clear) {
    const pmrt_buffer &buffer = role.buffers[list[expected].index];
    uint64_t begin = buffer.offset + list[expected].action * buffer.slot_stride;
    return {begin, begin + buffer.bytes, false, true};
  }
  const pmrt_action &action = actionOf(expected);
  if (list[expected].kind >= Expected::Send) {
    const pmrt_buffer &buffer = role.buffers[action.index];
    uint64_t begin =
        buffer.offset + action.micro_batch % buffer.slots * buffer.slot_stride;
    bool sends = list[expected].kind == Expected::Send;
    return {begin, begin + buffer.bytes, sends, !sends};
  }
  const pmrt_operand &place = instructionOf(expected).operands[operand];
  uint64_t begin = role.scratch_offset;
  if (place.buffer != PMRT_SCRATCH) {
    const pmrt_buffer &buffer = role.buffers[place.buffer];
    uint32_t kind = role.bodies[action.index].kind;
    bool isOnce =
        kind == PMRT_PROLOGUE || kind == PMRT_REDUCE || kind == PMRT_UPDATE;
    begin =
        buffer.offset +
        (isOnce ? 0 : action.micro_batch % buffer.slots * buffer.slot_stride);
  }
  begin += place.offset;
  return {begin, begin + place.bytes, (place.access & PMRT_READ) != 0,
          (place.access & PMRT_WRITE) != 0};
}

std::string Program::describe(uint32_t expected) const {
  if (list[expected].kind == Expected::Clear)
    return cat("zero at the begin of the step in '",
               role.buffers[list[expected].index].name, "', slot ",
               list[expected].action, ", of role ", number);
  const pmrt_action &action = actionOf(expected);
  if (list[expected].kind >= Expected::Send) {
    bool sends = list[expected].kind == Expected::Send;
    return cat(sends ? "send of '" : "receive of '",
               role.buffers[action.index].name, "' of micro-batch ",
               action.micro_batch, sends ? " to role " : " from role ",
               action.peer, ", action ", list[expected].action, " of role ",
               number);
  }
  const pmrt_instruction &instruction = instructionOf(expected);
  std::string text = opcodeText(instruction.opcode);
  if (list[expected].kind == Expected::Kernel)
    text += cat(" '", kernelOf(expected).name, "'");
  if (instruction.location && *instruction.location)
    text += cat(" at ", instruction.location);
  return cat(text, ", instruction ", list[expected].index, " of '",
             role.bodies[action.index].name, "' of micro-batch ",
             action.micro_batch, " of role ", number);
}

std::string Program::nameOf(uint64_t offset) const {
  if (offset >= role.scratch_offset &&
      offset < role.scratch_offset + role.scratch_bytes)
    return "the scratch region";
  for (const Place &place : places) {
    if (offset < place.begin || offset >= place.end)
      continue;
    const pmrt_buffer &buffer = role.buffers[place.buffer];
    uint64_t slot =
        buffer.slots > 1 ? (offset - place.begin) / buffer.slot_stride : 0;
    return cat("'", buffer.name, "'",
               buffer.slots > 1 ? cat(", slot ", slot) : std::string());
  }
  return "a workspace";
}

bool Program::isInput(uint64_t begin, uint64_t end) const {
  for (const Place &place : places)
    if (begin >= place.begin && end <= place.end &&
        info.buffers[place.buffer].kind == runtime::BufferKind::Input)
      return true;
  return false;
}

bool Program::isOfProgram(uint64_t begin, uint64_t end) const {
  return begin < programEnd ||
         (begin < role.scratch_offset + role.scratch_bytes &&
          end > role.scratch_offset);
}

} // namespace pipemesh::trace
