//===- Program.cpp - A role, prepared for running -------------------------===//

#include "host/Program.h"

#include <algorithm>
#include <map>
#include <set>

namespace pipemesh::runtime {

const char *kindName(uint32_t kind) {
  static const char *const names[] = {"prologue",       "forward",
                                      "input gradient", "weight gradient",
                                      "backward",       "reduce",
                                      "update"};
  return kind < std::size(names) ? names[kind] : "fragment";
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
  case PMRT_OP_COPY:
    text = "copy";
    break;
  default:
    text = "zero";
  }
  if (instruction.location && *instruction.location)
    text += cat(" at ", instruction.location);
  return text;
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
    const pmrt_body &body = role.bodies[role.actions[a].index];
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
        int32_t index = body.instructions[i].operands[o].buffer;
        if (index == PMRT_SCRATCH || filledByRuntime(info.buffers[index]))
          continue;
        // One slot is one value; several hold a value of each micro-batch.
        uint32_t microBatch =
            info.buffers[index].kind == BufferKind::Activation &&
                    !runsOnce(body)
                ? role.actions[a].micro_batch
                : 0;
        if (info.buffers[index].kind == BufferKind::Activation &&
            runsOnce(body))
          continue;
        if (touched.emplace(index, microBatch).second)
          firstTouched[a].push_back(index);
      }
  }

  for (uint32_t b = 0; b < role.num_bodies; ++b) {
    const pmrt_body &body = role.bodies[b];
    if (body.kind != PMRT_UPDATE)
      continue;
    std::set<int32_t> seen;
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
        const pmrt_operand &operand = body.instructions[i].operands[o];
        if (operand.buffer == PMRT_SCRATCH ||
            !seen.insert(operand.buffer).second)
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
              return std::pair(info.buffers[a].bytes, a) <
                     std::pair(info.buffers[b].bytes, b);
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
    const pmrt_body &body = role.bodies[role.actions[a].index];
    Ranges scratch;
    auto slotOf = [&](int32_t index) {
      return runsOnce(body)
                 ? 0
                 : role.actions[a].micro_batch % role.buffers[index].slots;
    };
    for (uint32_t index : firstTouched[a])
      written.erase({index, slotOf(index)});
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
          if (!inScratch && runsOnce(body) &&
              role.buffers[operand.buffer].slots > 1)
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
