//===- Program.cpp - A role, prepared for running -------------------------===//

#include "host/Program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace pipemesh::runtime {

const char *kindName(uint32_t kind) {
  static const char *const names[] = {
      "prologue", "forward", "input_gradient", "weight_gradient",
      "backward", "reduce",  "update"};
  return kind < std::size(names) ? names[kind] : "fragment";
}

/// Whether a buffer keeps its content from step to step or gets it from the
/// runtime before a step.
static bool filledByRuntime(const BufferInfo &buffer) {
  return buffer.kind == BufferKind::Input || buffer.kind == BufferKind::State ||
         (buffer.kind == BufferKind::Accumulator &&
          buffer.init == BufferInit::Zero);
}

Program::Program(const pmrt_role &role, const RoleInfo &info)
    : role(role), info(info) {
  std::map<const void *, uint32_t> known;
  planIndex.resize(role.num_bodies);
  for (uint32_t b = 0; b < role.num_bodies; ++b) {
    const pmrt_body &body = role.bodies[b];
    planIndex[b].resize(body.num_instructions, 0);
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      mostOperands = std::max(mostOperands, instruction.num_operands);
      if (isCollective(instruction) && instruction.event) {
        starts.resize(std::max<size_t>(starts.size(), instruction.event + 1));
        starts[instruction.event] = &instruction;
      }
      if (instruction.opcode == PMRT_OP_KERNEL)
        kernelScratchBytes =
            std::max(kernelScratchBytes, kernelOf(instruction).scratch_bytes);
      if (instruction.opcode != PMRT_OP_GEMM)
        continue;
      auto [entry, fresh] = known.try_emplace(
          instruction.descriptor, static_cast<uint32_t>(plans.size()));
      if (fresh)
        plans.emplace_back(
            *static_cast<const pmrt_gemm *>(instruction.descriptor));
      planIndex[b][i] = entry->second;
    }
  }

  for (uint32_t i = 0; i < info.buffers.size(); ++i)
    if (info.buffers[i].kind == BufferKind::Accumulator &&
        info.buffers[i].init == BufferInit::Zero)
      accumulators.push_back(i);

  std::set<std::pair<uint32_t, uint32_t>> touched; // buffer, micro-batch
  firstTouched.resize(role.num_actions);
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    auto touch = [&](uint32_t index, bool once) {
      const BufferInfo &buffer = info.buffers[index];
      if (filledByRuntime(buffer))
        return;
      // One slot is one value; several hold a value of each micro-batch.
      bool activation = buffer.kind == BufferKind::Activation;
      if (activation && once)
        return;
      if (touched.emplace(index, activation ? action.micro_batch : 0).second)
        firstTouched[a].push_back(index);
    };
    if (action.kind != PMRT_RUN) {
      touch(action.index, false);
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o)
        if (body.instructions[i].operands[o].buffer != PMRT_SCRATCH)
          touch(body.instructions[i].operands[o].buffer, runsOnce(body));
  }

  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    bool changesState = action.kind == PMRT_RUN &&
                        (role.bodies[action.index].kind == PMRT_REDUCE ||
                         role.bodies[action.index].kind == PMRT_UPDATE);
    updates |= changesState;
    if (action.kind == PMRT_RUN && !changesState)
      voteAt = a + 1;
    else if (action.kind == PMRT_SEND && voteAt == a)
      voteAt = a + 1;
  }

  std::set<uint32_t> written;
  for (uint64_t a = voteAt; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    if (action.kind == PMRT_RECEIVE)
      written.insert(action.index);
    if (action.kind != PMRT_RUN)
      continue;
    const pmrt_body &body = role.bodies[action.index];
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
        const pmrt_operand &operand = body.instructions[i].operands[o];
        if (operand.buffer == PMRT_SCRATCH ||
            !written.insert(operand.buffer).second)
          continue;
        const BufferInfo &buffer = info.buffers[operand.buffer];
        if ((operand.access & PMRT_READ) && buffer.dtype == "f32" &&
            buffer.bytes <= 256 && buffer.kind != BufferKind::Input &&
            buffer.kind != BufferKind::State)
          checkedBeforeUpdate.push_back(operand.buffer);
      }
  }
  // Scalars first: the loss says more than the gradient of a norm.
  std::sort(checkedBeforeUpdate.begin(), checkedBeforeUpdate.end(),
            [&](uint32_t a, uint32_t b) {
              auto key = [&](uint32_t i) {
                return std::tuple(info.buffers[i].role == "gradient",
                                  info.buffers[i].bytes, i);
              };
              return key(a) < key(b);
            });
}

bool Program::writes(uint64_t index, int64_t buffer) const {
  const pmrt_body &body = role.bodies[index];
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
      const pmrt_operand &operand = body.instructions[i].operands[o];
      if (operand.buffer == buffer && (operand.access & PMRT_WRITE))
        return true;
    }
  return false;
}

namespace {

/// A set of byte ranges.
class Ranges {
public:
  void add(uint64_t begin, uint64_t end) {
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin)
      --next;
    while (next != ranges.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges[begin] = end;
  }

  bool covers(uint64_t begin, uint64_t end) const {
    if (begin == end)
      return true;
    auto next = ranges.upper_bound(begin);
    return next != ranges.begin() && std::prev(next)->second >= end;
  }

private:
  std::map<uint64_t, uint64_t> ranges;
};

} // namespace

void Program::checkReads() const {
  std::map<std::pair<int32_t, uint32_t>, Ranges> written;
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    bool transfer = action.kind != PMRT_RUN;
    bool once = !transfer && runsOnce(role.bodies[action.index]);
    Ranges scratch;
    auto slotOf = [&](int32_t index) -> uint32_t {
      return once ? 0 : action.micro_batch % role.buffers[index].slots;
    };
    for (uint32_t index : firstTouched[a])
      written.erase({index, slotOf(index)});
    if (transfer) {
      if (filledByRuntime(info.buffers[action.index]))
        continue;
      uint64_t bytes = role.buffers[action.index].bytes;
      Ranges &ranges =
          written[{static_cast<int32_t>(action.index), slotOf(action.index)}];
      if (action.kind == PMRT_RECEIVE)
        ranges.add(0, bytes);
      else if (!ranges.covers(0, bytes))
        fail("--poison: action ", a, " sends buffer '",
             info.buffers[action.index].name, "' of micro-batch ",
             action.micro_batch, " to role ", action.peer,
             ", which nothing has written whole before in this step; the "
             "compiler that wrote this bundle has a fault");
      continue;
    }
    const pmrt_body &body = role.bodies[action.index];
    for (uint64_t i = 0; i < body.num_instructions; ++i) {
      const pmrt_instruction &instruction = body.instructions[i];
      for (uint32_t access : {PMRT_READ, PMRT_WRITE})
        for (uint32_t o = 0; o < instruction.num_operands; ++o) {
          const pmrt_operand &operand = instruction.operands[o];
          bool inScratch = operand.buffer == PMRT_SCRATCH;
          if (!(operand.access & access) ||
              (!inScratch && filledByRuntime(info.buffers[operand.buffer])))
            continue;
          // All slots at once: each was written through its own.
          if (!inScratch && once && role.buffers[operand.buffer].slots > 1)
            continue;
          Ranges &ranges =
              inScratch ? scratch
                        : written[{operand.buffer, slotOf(operand.buffer)}];
          uint64_t end = operand.offset + operand.bytes;
          if (access == PMRT_WRITE)
            ranges.add(operand.offset, end);
          else if (!ranges.covers(operand.offset, end))
            fail("--poison: instruction ", i, " of '", body.name, "' (",
                 describe(instruction), ") reads bytes [", operand.offset, ", ",
                 end, ") of ",
                 inScratch
                     ? std::string("the scratch region")
                     : cat("buffer '", info.buffers[operand.buffer].name, "'"),
                 ", which nothing has written before in this ",
                 inScratch ? "fragment" : "step",
                 "; the compiler that wrote this bundle has a fault");
        }
    }
  }
}

} // namespace pipemesh::runtime
