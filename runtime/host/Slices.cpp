//===- Slices.cpp - What of a rank's memory is in use, as it runs ---------===//

#include "host/Slices.h"

#include "host/Collective.h"

#include <cstring>

namespace pipemesh::runtime {

//===----------------------------------------------------------------------===//
// Sets of bytes
//===----------------------------------------------------------------------===//

void ByteSet::remove(uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  auto next = parts.upper_bound(begin);
  if (next != parts.begin() && std::prev(next)->second > begin)
    --next;
  while (next != parts.end() && next->first < end) {
    auto [from, to] = *next;
    next = parts.erase(next);
    count -= std::min(to, end) - std::max(from, begin);
    if (from < begin)
      parts.emplace(from, begin);
    if (end < to)
      next = parts.emplace(end, to).first;
  }
}

void ByteSet::add(uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  remove(begin, end);
  count += end - begin;
  auto next = parts.lower_bound(begin);
  if (next != parts.end() && next->first == end) {
    end = next->second;
    next = parts.erase(next);
  }
  if (next != parts.begin() && std::prev(next)->second == begin)
    std::prev(next)->second = end;
  else
    parts.emplace(begin, end);
}

void ByteSet::add(const ByteSet &other) {
  for (auto &[begin, end] : other.parts)
    add(begin, end);
}

bool ByteSet::contains(uint64_t begin, uint64_t end) const {
  bool all = true;
  forEachPart(begin, end, false, [&](uint64_t, uint64_t) { all = false; });
  return all;
}

//===----------------------------------------------------------------------===//
// Last reads
//===----------------------------------------------------------------------===//

static uint64_t placeOf(const pmrt_buffer &buffer, uint64_t microBatch) {
  return buffer.offset + microBatch % buffer.slots * buffer.slot_stride;
}

std::pair<uint64_t, uint64_t>
LastReads::bytesOf(uint64_t action, const pmrt_operand &operand) const {
  const pmrt_action &entry = program.role.actions[action];
  bool once = runsOnce(program.role.bodies[entry.index]);
  uint64_t at = operand.offset;
  at += operand.buffer == PMRT_SCRATCH
            ? program.role.scratch_offset
            : placeOf(program.role.buffers[operand.buffer],
                      once ? 0 : entry.micro_batch);
  return {at, at + operand.bytes};
}

std::pair<uint64_t, uint64_t>
LastReads::bytesOf(const pmrt_action &action) const {
  const pmrt_buffer &buffer = program.role.buffers[action.index];
  uint64_t at = placeOf(buffer, action.micro_batch);
  return {at, at + buffer.bytes};
}

/// Whether a product writes only parts of what its operand spans.
static bool leavesGaps(const pmrt_instruction &instruction) {
  if (instruction.opcode != PMRT_OP_GEMM)
    return false;
  const auto &gemm = *static_cast<const pmrt_gemm *>(instruction.descriptor);
  int64_t elements = gemm.m * gemm.n;
  for (int64_t size : gemm.batch)
    elements *= size;
  return uint64_t(elements) * dtypeSize(gemm.result_dtype) !=
         instruction.operands[2].bytes;
}

std::vector<LastReads::Touch>
LastReads::touchesOf(uint64_t action,
                     const pmrt_instruction &instruction) const {
  std::vector<Touch> touches;
  auto add = [&](uint64_t by, const pmrt_operand &operand, uint32_t access,
                 bool fills) {
    if (isKept(operand.buffer))
      return;
    auto [begin, end] = bytesOf(by, operand);
    touches.push_back({begin, end, access, fills});
  };
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    add(action, operand, operand.access,
        (operand.access & PMRT_WRITE) && !leavesGaps(instruction));
  }
  const pmrt_instruction *start = instruction.opcode == PMRT_OP_WAIT
                                      ? program.startOf(instruction.event)
                                      : nullptr;
  if (start)
    for (uint32_t o = 0; o < start->num_operands; ++o)
      add(startedBy.at(instruction.event), start->operands[o], PMRT_READ, false);
  return touches;
}

void LastReads::goBack(uint64_t action, const pmrt_instruction &instruction,
                       ByteSet &live) const {
  std::vector<Touch> touches = touchesOf(action, instruction);
  for (const Touch &touch : touches)
    if (touch.fills)
      live.remove(touch.begin, touch.end);
  for (const Touch &touch : touches)
    if (touch.access & PMRT_READ)
      live.add(touch.begin, touch.end);
}

LastReads::Ends LastReads::endsOf(uint64_t action) const {
  const pmrt_body &body = program.role.bodies[program.role.actions[action].index];
  uint64_t count = body.num_instructions;
  Ends ends;
  ends.behind.resize(count);
  auto end = [&](uint64_t i, const ByteSet &live) {
    for (const Touch &touch : touchesOf(action, body.instructions[i]))
      live.forEachPart(touch.begin, touch.end, false,
                       [&](uint64_t from, uint64_t to) {
                         ends.behind[i].emplace_back(from, to);
                       });
  };
  auto isJump = [&](uint64_t i) {
    return body.instructions[i].opcode == PMRT_OP_JUMP ||
           body.instructions[i].opcode == PMRT_OP_SWITCH;
  };
  ends.before = behind(static_cast<int64_t>(action));
  bool straight = true;
  for (uint64_t i = 0; i < count; ++i)
    straight &= !isJump(i);
  if (straight) {
    for (uint64_t i = count; i-- > 0;) {
      end(i, ends.before);
      goBack(action, body.instructions[i], ends.before);
    }
    return ends;
  }
  std::vector<ByteSet> before(count + 1);
  before[count] = ends.before;
  auto next = [&](uint64_t i) {
    if (!isJump(i))
      return before[i + 1];
    ByteSet live;
    const auto &jump =
        *static_cast<const pmrt_jump *>(body.instructions[i].descriptor);
    for (uint32_t t = 0; t < jump.num_targets; ++t)
      live.add(before[jump.targets[t]]);
    return live;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint64_t i = count; i-- > 0;) {
      ByteSet live = next(i);
      goBack(action, body.instructions[i], live);
      if (live == before[i])
        continue;
      before[i] = std::move(live);
      changed = true;
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!isJump(i)) {
      end(i, before[i + 1]);
      continue;
    }
    const auto &jump =
        *static_cast<const pmrt_jump *>(body.instructions[i].descriptor);
    for (uint32_t t = 0; t < jump.num_targets; ++t)
      ends.atTarget[jump.targets[t]] = before[jump.targets[t]];
  }
  ends.before = before[0];
  return ends;
}

LastReads::LastReads(const Program &program) : program(program) {
  const pmrt_role &role = program.role;
  ByteSet all, outputs;
  for (uint32_t i = 0; i < role.num_buffers; ++i) {
    const BufferInfo &info = program.info.buffers[i];
    kept.push_back(info.kind == BufferKind::State ||
                   info.kind == BufferKind::Input);
    bool zeroed = info.kind == BufferKind::Accumulator &&
                  info.init == BufferInit::Zero;
    for (uint32_t s = 0; s < role.buffers[i].slots; ++s) {
      uint64_t begin = placeOf(role.buffers[i], s);
      uint64_t end = begin + role.buffers[i].bytes;
      if (kept.back())
        all.add(begin, end);
      else if (zeroed)
        filling.add(begin, end);
      else if (info.kind == BufferKind::Output)
        outputs.add(begin, end);
    }
  }
  filling.add(all);
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    if (role.actions[a].kind != PMRT_RUN)
      continue;
    const pmrt_body &body = role.bodies[role.actions[a].index];
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      if (body.instructions[i].event && isCollective(body.instructions[i]))
        startedBy[body.instructions[i].event] = a;
  }
  live.resize(role.num_actions + 1);
  live.back() = std::move(all);
  live.back().add(outputs);
  for (uint64_t a = role.num_actions; a-- > 0;) {
    const pmrt_action &action = role.actions[a];
    if (action.kind == PMRT_RUN) {
      live[a] = endsOf(a).before;
      // No value stays in the scratch region from body to body.
      live[a].remove(role.scratch_offset,
                     role.scratch_offset + role.scratch_bytes);
      continue;
    }
    live[a] = live[a + 1];
    if (isKept(static_cast<int32_t>(action.index)))
      continue;
    auto [begin, end] = bytesOf(action);
    if (action.kind == PMRT_SEND)
      live[a].add(begin, end);
    else
      live[a].remove(begin, end);
  }
}

//===----------------------------------------------------------------------===//
// Live bytes
//===----------------------------------------------------------------------===//

void Slices::see(uint64_t more, const pmrt_instruction *instruction) {
  if (now.size() + more <= most)
    return;
  most = now.size() + more;
  const pmrt_action &entry = program.role.actions[action];
  if (entry.kind != PMRT_RUN)
    place = cat(entry.kind == PMRT_SEND ? "send" : "receive", " of '",
                program.info.buffers[entry.index].name, "'");
  else
    place = cat("'", program.role.bodies[entry.index].name, "'");
  place += cat(" of micro-batch ", entry.micro_batch);
  if (instruction)
    place += ", " + describe(*instruction);
}

void Slices::free(uint64_t begin, uint64_t end) {
  now.remove(begin, end);
  std::memset(arena + begin, 0xff, end - begin);
}

void Slices::keepOnly(const ByteSet &live) {
  std::vector<std::pair<uint64_t, uint64_t>> dead;
  now.forEachBeside(live, [&](uint64_t begin, uint64_t end) {
    dead.emplace_back(begin, end);
  });
  for (auto [begin, end] : dead)
    free(begin, end);
}

void Slices::beginStep() {
  now = reads.filled();
  if (now.size() > most) {
    most = now.size();
    place = "the beginning of the step";
  }
  keepOnly(reads.behind(-1));
}

void Slices::access(uint64_t begin, uint64_t end, uint32_t how,
                    const std::string &what) {
  if ((how & PMRT_READ) && !now.contains(begin, end))
    fail("--poison=free: ", what, " reads bytes [", begin, ", ", end,
         ") of the arena, which are not live; the compiler that wrote this "
         "bundle has a fault");
  if (how & PMRT_WRITE)
    now.add(begin, end);
}

void Slices::beginAction(uint64_t number) {
  action = number;
  ends = reads.endsOf(number);
}

void Slices::beginInstruction(uint64_t index, uint64_t kernelScratch) {
  const pmrt_instruction &instruction =
      program.role.bodies[program.role.actions[action].index]
          .instructions[index];
  std::vector<LastReads::Touch> touches = reads.touchesOf(action, instruction);
  for (uint32_t how : {PMRT_READ, PMRT_WRITE})
    for (const LastReads::Touch &touch : touches)
      access(touch.begin, touch.end, touch.access & how, describe(instruction));
  see(kernelScratch, &instruction);
}

void Slices::endInstruction(uint64_t index, uint64_t next) {
  auto target = ends.atTarget.find(next);
  uint32_t opcode = program.role.bodies[program.role.actions[action].index]
                        .instructions[index]
                        .opcode;
  if (opcode == PMRT_OP_JUMP || opcode == PMRT_OP_SWITCH)
    return keepOnly(target->second);
  for (auto [begin, end] : ends.behind[index])
    free(begin, end);
}

void Slices::beginTransfer(uint64_t number) {
  action = number;
  const pmrt_action &entry = program.role.actions[number];
  auto [begin, end] = reads.bytesOf(entry);
  access(begin, end, entry.kind == PMRT_SEND ? PMRT_READ : PMRT_WRITE,
         "a send");
  see(0, nullptr);
}

void Slices::endTransfer(uint64_t number) {
  keepOnly(reads.behind(static_cast<int64_t>(number)));
}

void Slices::endStep() {
  keepOnly(reads.behind(static_cast<int64_t>(program.role.num_actions) - 1));
}

} // namespace pipemesh::runtime
