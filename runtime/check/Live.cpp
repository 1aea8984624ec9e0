//===- Live.cpp - How many bytes hold a value that is still read ----------===//

#include "check/Live.h"

#include "check/Flow.h"
#include "check/Ranges.h"

#include <map>
#include <memory>

namespace pipemesh::proof {

using runtime::BufferInfo;
using runtime::BufferInit;
using runtime::BufferKind;

namespace {

/// What lies in a slot: `mine` is that of the action's micro-batch.
struct Slice {
  static constexpr uint32_t mine = ~0u, scratch = ~0u;
  uint32_t place, slot;
  bool operator<(const Slice &other) const {
    return std::pair(place, slot) < std::pair(other.place, other.slot);
  }
};

struct Access {
  uint32_t slice; ///< index in LiveBody::slices
  uint64_t begin, end;
  bool reads;
  bool fills; ///< writes every byte
};

/// Live bytes of the slices that a body touches; the last is the scratch region.
using LiveSet = std::vector<Ranges>;

/// What a run of a body needs, for one set of what is live behind it.
struct BodyLife {
  LiveSet before;
  uint64_t outside = 0; ///< bytes of the slices behind it
  /// At the instruction where most is live.
  uint64_t values = 0, scratch = 0, kernel = 0, instruction = 0;
  uint64_t bytes() const { return values + scratch + kernel; }
};

/// A collective that goes on up to the wait for its event.
struct Start {
  const pmrt_instruction *instruction;
  bool once;
  uint32_t microBatch; ///< of the action that runs it
};
using Starts = std::map<uint32_t, Start>;

class LiveBody {
public:
  /// `microBatch` is that of the action, where the body runs once.
  LiveBody(const Role &role, uint32_t number, const Starts &starts,
           uint32_t microBatch);

  /// In the order of their numbers; the scratch region is the last one.
  std::vector<Slice> slices;
  const BodyLife &lifeOf(const LiveSet &after);

private:
  /// Goes back over a block; with `life`, looks for the peak.
  void goBack(const FlowBlock &block, LiveSet &live, BodyLife *life) const;

  const Role &role;
  const pmrt_body &body;
  Flow flow;
  std::map<Slice, uint32_t> numbers;
  std::vector<std::vector<Access>> accesses; // by instruction
  std::map<std::vector<uint64_t>, BodyLife> known;
};

} // namespace

static bool isKept(const Role &role, uint32_t buffer) {
  BufferKind kind = role.info.buffers[buffer].kind;
  return kind == BufferKind::Input || kind == BufferKind::State;
}

/// Whether a written operand is written whole: a product may leave gaps.
static bool fillsOperand(const pmrt_instruction &instruction, uint32_t number) {
  if (instruction.opcode != PMRT_OP_GEMM || number != 2)
    return true;
  const auto &gemm = *static_cast<const pmrt_gemm *>(instruction.descriptor);
  auto elements = static_cast<uint64_t>(gemm.m) * static_cast<uint64_t>(gemm.n);
  for (int64_t size : gemm.batch)
    elements *= static_cast<uint64_t>(size);
  return elements * elementBytes(gemm.result_dtype) ==
         instruction.operands[number].bytes;
}

static Starts findStarts(const pmrt_role &table) {
  Starts starts;
  std::vector<bool> seen(table.num_bodies);
  for (uint64_t a = 0; a < table.num_actions; ++a) {
    const pmrt_action &action = table.actions[a];
    if (action.kind != PMRT_RUN || seen[action.index])
      continue;
    seen[action.index] = true;
    const pmrt_body &body = table.bodies[action.index];
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      if (body.instructions[i].event && isCollective(body.instructions[i]))
        starts[body.instructions[i].event] = {
            &body.instructions[i], runsOnce(body), action.micro_batch};
  }
  return starts;
}

LiveBody::LiveBody(const Role &role, uint32_t number, const Starts &starts,
                   uint32_t microBatch)
    : role(role), body(role.table.bodies[number]), flow(role, number) {
  bool once = runsOnce(body);
  // What starts or waits runs for one micro-batch only, so that its slots have
  // numbers; the operands of a start may lie in those of another action.
  bool numbered = false;
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    numbered |= body.instructions[i].event != 0;
  accesses.resize(body.num_instructions);
  for (uint64_t i = 0; i < body.num_instructions; ++i) {
    const pmrt_instruction &instruction = body.instructions[i];
    auto add = [&](Slice slice, uint64_t begin, uint64_t end, bool reads,
                   bool fills) {
      auto [entry, fresh] = numbers.try_emplace(
          slice, static_cast<uint32_t>(slices.size()));
      if (fresh)
        slices.push_back(slice);
      accesses[i].push_back({entry->second, begin, end, reads, fills});
    };
    auto addOperand = [&](const pmrt_operand &operand, bool once,
                          uint32_t microBatch, bool reads, bool fills) {
      uint64_t end = operand.offset + operand.bytes;
      if (operand.buffer == PMRT_SCRATCH) {
        add({Slice::scratch, 0}, operand.offset, end, reads, fills);
        return;
      }
      if (isKept(role, operand.buffer))
        return;
      const pmrt_buffer &buffer = role.table.buffers[operand.buffer];
      uint32_t place = role.place[operand.buffer];
      if (buffer.slots == 1) {
        add({place, 0}, operand.offset, end, reads, fills);
        return;
      }
      if (!once) {
        add({place, numbered ? microBatch % buffer.slots : Slice::mine},
            operand.offset, end, reads, fills);
        return;
      }
      for (uint64_t s = operand.offset / buffer.slot_stride;
           s < buffer.slots && s * buffer.slot_stride < end; ++s) {
        uint64_t at = s * buffer.slot_stride;
        uint64_t from = operand.offset > at ? operand.offset - at : 0;
        uint64_t to = std::min(end - at, buffer.bytes);
        if (from < to)
          add({place, static_cast<uint32_t>(s)}, from, to, reads, fills);
      }
    };
    for (uint32_t o = 0; o < instruction.num_operands; ++o) {
      uint32_t access = instruction.operands[o].access;
      addOperand(instruction.operands[o], once, microBatch, access & PMRT_READ,
                 (access & PMRT_WRITE) && fillsOperand(instruction, o));
    }
    // A collective that was started has its operands up to the wait.
    auto start = starts.find(instruction.event);
    if (instruction.opcode == PMRT_OP_WAIT && start != starts.end())
      for (uint32_t o = 0; o < start->second.instruction->num_operands; ++o)
        addOperand(start->second.instruction->operands[o], start->second.once,
                   start->second.microBatch, true, false);
  }
  // The scratch region has a slice, and it is the last one.
  auto [entry, fresh] = numbers.try_emplace(
      Slice{Slice::scratch, 0}, static_cast<uint32_t>(slices.size()));
  if (fresh)
    slices.push_back({Slice::scratch, 0});
  uint32_t own = entry->second, last = static_cast<uint32_t>(slices.size()) - 1;
  std::swap(slices[own], slices[last]);
  for (std::vector<Access> &list : accesses)
    for (Access &access : list)
      access.slice = access.slice == own    ? last
                     : access.slice == last ? own
                                            : access.slice;
}

void LiveBody::goBack(const FlowBlock &block, LiveSet &live,
                      BodyLife *life) const {
  uint64_t values = 0, scratch = 0;
  if (life) {
    for (size_t s = 0; s + 1 < live.size(); ++s)
      values += live[s].bytes();
    scratch = live.back().bytes();
  }
  auto sum = [&](uint32_t slice) -> uint64_t & {
    return slice + 1 == live.size() ? scratch : values;
  };
  for (uint64_t i = block.end; i-- > block.begin;) {
    auto add = [&](const Access &access) {
      if (life)
        sum(access.slice) += access.end - access.begin -
                             live[access.slice].bytesIn(access.begin, access.end);
      live[access.slice].add(access.begin, access.end);
    };
    for (const Access &access : accesses[i])
      add(access);
    if (life) {
      const pmrt_instruction &instruction = body.instructions[i];
      uint64_t kernel =
          instruction.opcode == PMRT_OP_KERNEL
              ? static_cast<const pmrt_kernel *>(instruction.descriptor)
                    ->scratch_bytes
              : 0;
      if (values + scratch + kernel >= life->bytes()) {
        life->values = values;
        life->scratch = scratch;
        life->kernel = kernel;
        life->instruction = i;
      }
    }
    for (const Access &access : accesses[i])
      if (access.fills) {
        if (life)
          sum(access.slice) -=
              live[access.slice].bytesIn(access.begin, access.end);
        live[access.slice].remove(access.begin, access.end);
      }
    for (const Access &access : accesses[i])
      if (access.reads)
        add(access);
  }
}

const BodyLife &LiveBody::lifeOf(const LiveSet &after) {
  std::vector<uint64_t> key;
  for (const Ranges &ranges : after) {
    key.push_back(ranges.ranges().size());
    for (const Ranges::Range &range : ranges.ranges()) {
      key.push_back(range.begin);
      key.push_back(range.end);
    }
  }
  auto [entry, fresh] = known.try_emplace(std::move(key));
  BodyLife &life = entry->second;
  if (!fresh)
    return life;
  for (const Ranges &ranges : after)
    life.outside += ranges.bytes();
  if (flow.isStraight()) {
    life.before = after;
    if (body.num_instructions)
      goBack(flow.blocks().front(), life.before, &life);
    return life;
  }
  std::vector<LiveSet> before(flow.blocks().size(), LiveSet(after.size()));
  before[flow.exit()] = after;
  auto behind = [&](uint32_t block) {
    LiveSet live(after.size());
    for (uint32_t next : flow.blocks()[block].successors)
      for (size_t s = 0; s < live.size(); ++s)
        live[s].add(before[next][s]);
    return live;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = flow.order().size(); b-- > 0;) {
      uint32_t block = flow.order()[b];
      if (block == flow.exit())
        continue;
      LiveSet live = behind(block);
      goBack(flow.blocks()[block], live, nullptr);
      if (live != before[block]) {
        before[block] = std::move(live);
        changed = true;
      }
    }
  }
  for (uint32_t block : flow.order())
    if (block != flow.exit()) {
      LiveSet live = behind(block);
      goBack(flow.blocks()[block], live, &life);
    }
  life.before = before[0];
  return life;
}

LiveFacts findLive(const Role &role) {
  const pmrt_role &table = role.table;
  LiveFacts facts;
  std::vector<std::vector<Ranges>> live(table.num_buffers); // by place and slot
  uint64_t total = 0;
  for (uint32_t i = 0; i < table.num_buffers; ++i) {
    const pmrt_buffer &buffer = table.buffers[i];
    if (isKept(role, i))
      facts.kept += buffer.slots * buffer.bytes;
    live[role.place[i]].resize(buffer.slots);
  }
  auto add = [&](uint32_t buffer, uint32_t slot) {
    Ranges &ranges = live[role.place[buffer]][slot];
    uint64_t bytes = table.buffers[buffer].bytes;
    total += bytes - ranges.bytesIn(0, bytes);
    ranges.add(0, bytes);
  };
  for (uint32_t i = 0; i < table.num_buffers; ++i)
    if (role.info.buffers[i].kind == BufferKind::Output)
      for (uint32_t s = 0; s < table.buffers[i].slots; ++s)
        add(i, s);

  auto see = [&](uint64_t values, uint64_t scratch, uint64_t kernel,
                 auto describePlace) {
    if (values + scratch + kernel < facts.values + facts.scratch + facts.kernel)
      return;
    facts.values = values;
    facts.scratch = scratch;
    facts.kernel = kernel;
    facts.place = describePlace();
  };
  Starts starts = findStarts(table);
  std::vector<std::unique_ptr<LiveBody>> bodies(table.num_bodies);
  LiveSet after;
  for (uint64_t a = table.num_actions; a-- > 0;) {
    const pmrt_action &action = table.actions[a];
    auto describeAction = [&] { return describe(role, a); };
    if (action.kind != PMRT_RUN) {
      uint32_t slot = action.micro_batch % table.buffers[action.index].slots;
      if (isKept(role, action.index))
        continue;
      add(action.index, slot);
      see(total, 0, 0, describeAction);
      if (action.kind == PMRT_RECEIVE) {
        total -= table.buffers[action.index].bytes;
        live[role.place[action.index]][slot].clear();
      }
      continue;
    }
    std::unique_ptr<LiveBody> &body = bodies[action.index];
    if (!body)
      body = std::make_unique<LiveBody>(role, action.index, starts,
                                        action.micro_batch);
    auto find = [&](const Slice &slice) -> Ranges & {
      std::vector<Ranges> &slots = live[slice.place];
      return slots[slice.slot == Slice::mine ? action.micro_batch % slots.size()
                                             : slice.slot];
    };
    after.assign(body->slices.size(), {});
    for (size_t s = 0; s + 1 < body->slices.size(); ++s)
      after[s] = find(body->slices[s]);
    const BodyLife &life = body->lifeOf(after);
    total -= life.outside;
    see(total + life.values, life.scratch, life.kernel, [&] {
      if (!table.bodies[action.index].num_instructions)
        return describeAction();
      return cat(describe(role, a), ", instruction ", life.instruction, " (",
                 describe(table.bodies[action.index]
                              .instructions[life.instruction]),
                 ")");
    });
    for (size_t s = 0; s + 1 < body->slices.size(); ++s) {
      total += life.before[s].bytes();
      find(body->slices[s]) = life.before[s];
    }
  }
  for (uint32_t i = 0; i < table.num_buffers; ++i)
    if (role.info.buffers[i].kind == BufferKind::Accumulator &&
        role.info.buffers[i].init == BufferInit::Zero)
      for (uint32_t s = 0; s < table.buffers[i].slots; ++s)
        add(i, s);
  see(total, 0, 0, [] { return std::string("the beginning of the step"); });
  return facts;
}

} // namespace pipemesh::proof
