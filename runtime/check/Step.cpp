//===- Step.cpp - The actions of a role, one after the other --------------===//

#include "check/Step.h"

#include <map>

namespace pipemesh::proof {

using runtime::BufferInfo;
using runtime::BufferInit;
using runtime::BufferKind;

namespace {

constexpr uint32_t nothing = ~0u;

/// What lies in a slot.
struct Slot {
  Ranges defined;
  uint32_t microBatch = 0;
  /// The name by which it was written last.
  uint32_t writer = nothing;
};

class StepCheck {
public:
  StepCheck(const Tables &tables, const Role &role,
            const std::vector<BodyFacts> &bodies)
      : tables(tables), role(role), table(role.table), bodies(bodies) {}

  void run();

private:
  bool isInput(uint32_t buffer) const {
    return role.info.buffers[buffer].kind == BufferKind::Input;
  }
  /// Buffers that the runtime fills before a step.
  bool isFilled(uint32_t buffer) const {
    const BufferInfo &info = role.info.buffers[buffer];
    return isInput(buffer) || info.kind == BufferKind::State ||
           (info.kind == BufferKind::Accumulator &&
            info.init == BufferInit::Zero);
  }
  Slot &slotOf(uint32_t buffer, uint32_t slot) {
    return slots[role.place[buffer]][slot];
  }
  /// Calls visit(slot, begin, end) for the parts of a range that begins at
  /// slot 0 and may go over several.
  template <typename Visit>
  void forEachSlot(uint32_t buffer, uint64_t begin, uint64_t end,
                   Visit visit) const;

  void prepare();
  void countRuns();
  void checkRun(uint64_t action);
  void runBody(uint64_t action);
  void transfer(uint64_t action);
  void checkEnd();
  void read(uint64_t action, uint32_t buffer, uint32_t slot,
            uint32_t microBatch, uint64_t begin, uint64_t end);
  void write(uint32_t buffer, uint32_t slot, uint32_t microBatch,
             const Ranges &ranges, const Ranges &mayWrite);
  std::string reader(uint64_t action, uint32_t buffer, uint64_t begin,
                     uint64_t end) const;

  const Tables &tables;
  const Role &role;
  const pmrt_role &table;
  const std::vector<BodyFacts> &bodies;
  std::vector<std::vector<Slot>> slots; // by place
  /// Whether something of the role writes a buffer by its own name, and whether
  /// its place has several names.
  std::vector<bool> written, shared;
  /// By body: the uses that each run is about, and those that the first run
  /// settles: what is written once a step stays there.
  std::vector<std::vector<const BufferUse *>> repeated, settled;
  std::vector<bool> hasRun;
  /// Bodies of one stage and kind share its runs: the last one may be another's.
  std::vector<uint32_t> group;
  std::vector<std::vector<bool>> done; // by group and micro-batch
  /// Runs of a stage that are left, by kind: per micro-batch and once.
  struct StageRuns {
    uint64_t prologues = 0, microBatches = 0, reduces = 0;
    uint64_t prologuesLeft = 0, microBatchesLeft = 0, reducesLeft = 0;
  };
  std::map<uint32_t, StageRuns> stages;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> groupOf; // stage and kind
  /// One-value buffers that runs of micro-batches write: how many runs are left.
  std::vector<uint64_t> writesLeft;
  std::vector<std::vector<uint32_t>> sums; // by body
};

} // namespace

template <typename Visit>
void StepCheck::forEachSlot(uint32_t buffer, uint64_t begin, uint64_t end,
                            Visit visit) const {
  const pmrt_buffer &of = table.buffers[buffer];
  if (of.slots == 1) {
    visit(0u, begin, end);
    return;
  }
  auto first = static_cast<uint32_t>(begin / of.slot_stride);
  for (uint32_t s = first; s < of.slots && s * of.slot_stride < end; ++s) {
    uint64_t at = s * of.slot_stride;
    uint64_t from = begin > at ? begin - at : 0;
    uint64_t to = std::min(end - at, of.bytes);
    if (from < to)
      visit(s, from, to);
  }
}

void StepCheck::prepare() {
  slots.resize(table.num_buffers);
  written.resize(table.num_buffers);
  shared.resize(table.num_buffers);
  for (uint32_t i = 0; i < table.num_buffers; ++i) {
    slots[i].resize(role.place[i] == i ? table.buffers[i].slots : 0);
    if (role.place[i] != i)
      shared[i] = shared[role.place[i]] = true;
  }
  for (uint32_t i = 0; i < table.num_buffers; ++i)
    if (isFilled(i))
      for (uint32_t s = 0; s < table.buffers[i].slots; ++s) {
        Slot &slot = slotOf(i, s);
        slot.defined.add(0, table.buffers[i].bytes);
        slot.microBatch = s;
        slot.writer = i;
      }
  for (const BodyFacts &facts : bodies)
    for (const BufferUse &use : facts.uses)
      if (!use.mayWrite.empty())
        written[use.buffer] = true;
  for (uint64_t a = 0; a < table.num_actions; ++a)
    if (table.actions[a].kind == PMRT_RECEIVE)
      written[table.actions[a].index] = true;

  repeated.resize(table.num_bodies);
  settled.resize(table.num_bodies);
  hasRun.resize(table.num_bodies);
  sums.resize(table.num_bodies);
  writesLeft.resize(table.num_buffers);
  std::vector<uint64_t> runs(table.num_bodies);
  for (uint64_t a = 0; a < table.num_actions; ++a)
    if (table.actions[a].kind == PMRT_RUN)
      ++runs[table.actions[a].index];
  for (uint32_t b = 0; b < table.num_bodies; ++b)
    for (const BufferUse &use : bodies[b].uses) {
      bool once = !role.perMicroBatch[use.buffer] && !shared[use.buffer];
      (once ? settled : repeated)[b].push_back(&use);
      // A sum; what is written anew by each run is there after the first.
      if (!role.perMicroBatch[use.buffer] && !runsOnce(table.bodies[b]) &&
          !use.mayWrite.empty() && !use.reads.empty()) {
        sums[b].push_back(use.buffer);
        writesLeft[use.buffer] += runs[b];
      }
    }
}

/// What each stage of the role has to run.
void StepCheck::countRuns() {
  for (uint32_t b = 0; b < table.num_bodies; ++b) {
    const pmrt_body &body = table.bodies[b];
    bool once = runsOnce(body);
    auto [entry, isNew] = groupOf.try_emplace({body.stage, body.kind}, b);
    group.push_back(entry->second);
    done.emplace_back();
    if (!isNew)
      continue;
    done[b].resize(once ? 1 : tables.microBatches);
    StageRuns &runs = stages[body.stage];
    if (body.kind == PMRT_PROLOGUE)
      ++runs.prologuesLeft;
    else if (body.kind == PMRT_REDUCE)
      ++runs.reducesLeft;
    else if (!once)
      runs.microBatchesLeft += tables.microBatches;
  }
}

void StepCheck::checkRun(uint64_t index) {
  const pmrt_action &action = table.actions[index];
  const pmrt_body &body = table.bodies[action.index];
  bool once = runsOnce(body);
  if (once && action.micro_batch)
    refuse("schedule", describe(role, index), " runs a ", kindText(body.kind),
           ", which runs once a step, for micro-batch 0");
  std::vector<bool> &own = done[group[action.index]];
  if (own[action.micro_batch])
    refuse("schedule", describe(role, index), " runs a second time");
  own[action.micro_batch] = true;
  StageRuns &runs = stages[body.stage];
  auto early = [&](const char *before) {
    refuse("schedule", describe(role, index), " runs before ", before,
           " of its stage");
  };
  if (body.kind == PMRT_PROLOGUE) {
    --runs.prologuesLeft;
    return;
  }
  if (runs.prologuesLeft)
    early("the prologue");
  if (!once) {
    --runs.microBatchesLeft;
    for (uint32_t kind = PMRT_FORWARD; kind < body.kind; ++kind) {
      auto other = groupOf.find({body.stage, kind});
      if (other != groupOf.end() && !done[other->second][action.micro_batch])
        refuse("schedule", describe(role, index), " runs before '",
               table.bodies[other->second].name, "' of that micro-batch");
    }
    for (uint32_t buffer : sums[action.index])
      --writesLeft[buffer];
    return;
  }
  if (runs.microBatchesLeft)
    early("all micro-batches");
  if (body.kind == PMRT_REDUCE)
    --runs.reducesLeft;
  else if (runs.reducesLeft)
    early("the reduction");
}

std::string StepCheck::reader(uint64_t index, uint32_t buffer, uint64_t begin,
                              uint64_t end) const {
  const pmrt_action &action = table.actions[index];
  std::string text = describe(role, index);
  if (action.kind != PMRT_RUN)
    return text + " moves";
  const pmrt_body &body = table.bodies[action.index];
  uint64_t i = firstReader(body, buffer, begin, end);
  return text + cat(", instruction ", i, " (", describe(body.instructions[i]),
                    ") reads");
}

void StepCheck::read(uint64_t action, uint32_t buffer, uint32_t number,
                     uint32_t microBatch, uint64_t begin, uint64_t end) {
  const Slot &slot = slotOf(buffer, number);
  const pmrt_buffer &of = table.buffers[buffer];
  bool taken = role.perMicroBatch[buffer] && slot.microBatch != microBatch &&
               !slot.defined.empty();
  if (taken)
    refuse("stale", reader(action, buffer, begin, end), " '", of.name,
           "' of micro-batch ", microBatch, ", but its slot ", number, " of ",
           of.slots, " holds micro-batch ", slot.microBatch);
  if (!slot.defined.covers(begin, end) ||
      (role.perMicroBatch[buffer] && slot.microBatch != microBatch))
    refuse("undefined", reader(action, buffer, begin, end), " bytes [", begin,
           ", ", end, ") of '", of.name, "'",
           role.perMicroBatch[buffer] ? cat(" of micro-batch ", microBatch)
                                      : std::string(),
           ", which nothing has written whole before in the step");
  // A name that nothing writes is another one's, from when it is complete.
  if (slot.writer != buffer && slot.writer != nothing && written[buffer])
    refuse("stale", reader(action, buffer, begin, end), " '", of.name,
           "', but '", table.buffers[slot.writer].name,
           "' was put in its place at byte ", of.offset);
}

void StepCheck::write(uint32_t buffer, uint32_t number, uint32_t microBatch,
                      const Ranges &ranges, const Ranges &mayWrite) {
  Slot &slot = slotOf(buffer, number);
  bool other = role.perMicroBatch[buffer] && slot.microBatch != microBatch;
  if (other && !mayWrite.empty()) {
    slot.defined.clear();
    slot.microBatch = microBatch;
  }
  if (!mayWrite.empty()) {
    // Another value under another name leaves nothing of the first.
    if (shared[buffer] && slot.writer != buffer)
      slot.defined.clear();
    slot.writer = buffer;
  }
  slot.defined.add(ranges);
}

void StepCheck::runBody(uint64_t index) {
  const pmrt_action &action = table.actions[index];
  const pmrt_body &body = table.bodies[action.index];
  bool once = runsOnce(body);
  auto run = [&](const std::vector<const BufferUse *> &uses) {
    for (const BufferUse *use : uses)
      for (const Ranges::Range &range : use->reads.ranges())
        if (once)
          forEachSlot(use->buffer, range.begin, range.end,
                      [&](uint32_t slot, uint64_t begin, uint64_t end) {
                        read(index, use->buffer, slot, slot, begin, end);
                      });
        else
          read(index, use->buffer,
               action.micro_batch % table.buffers[use->buffer].slots,
               action.micro_batch, range.begin, range.end);
    for (const BufferUse *use : uses) {
      if (use->mayWrite.empty())
        continue;
      if (!once) {
        write(use->buffer,
              action.micro_batch % table.buffers[use->buffer].slots,
              action.micro_batch, use->writes, use->mayWrite);
        continue;
      }
      std::map<uint32_t, std::pair<Ranges, Ranges>> parts;
      for (const Ranges::Range &range : use->mayWrite.ranges())
        forEachSlot(use->buffer, range.begin, range.end,
                    [&](uint32_t slot, uint64_t begin, uint64_t end) {
                      parts[slot].second.add(begin, end);
                    });
      for (const Ranges::Range &range : use->writes.ranges())
        forEachSlot(use->buffer, range.begin, range.end,
                    [&](uint32_t slot, uint64_t begin, uint64_t end) {
                      parts[slot].first.add(begin, end);
                    });
      for (auto &[slot, part] : parts)
        write(use->buffer, slot, slot, part.first, part.second);
    }
  };
  run(repeated[action.index]);
  if (!hasRun[action.index])
    run(settled[action.index]);
  hasRun[action.index] = true;
}

void StepCheck::transfer(uint64_t index) {
  const pmrt_action &action = table.actions[index];
  const pmrt_buffer &buffer = table.buffers[action.index];
  if (!role.perMicroBatch[action.index] && action.micro_batch)
    refuse("transfer", describe(role, index), " moves '", buffer.name,
           "', which holds one value a step, as micro-batch 0");
  uint32_t slot = action.micro_batch % buffer.slots;
  if (action.kind == PMRT_SEND) {
    if (writesLeft[action.index])
      refuse("schedule", describe(role, index), " sends '", buffer.name,
             "' before ", writesLeft[action.index],
             " runs of micro-batches have added to it");
    read(index, action.index, slot, action.micro_batch, 0, buffer.bytes);
    return;
  }
  if (isInput(action.index))
    refuse("overlap", describe(role, index), " overwrites an input");
  Ranges whole;
  whole.add(0, buffer.bytes);
  write(action.index, slot, action.micro_batch, whole, whole);
}

/// What the runtime takes out after the step.
void StepCheck::checkEnd() {
  for (uint32_t b = 0; b < table.num_bodies; ++b)
    for (size_t m = 0; m < done[b].size(); ++m)
      if (!done[b][m])
        refuse("schedule", "role ", role.number, ": no action runs '",
               table.bodies[b].name, "' of micro-batch ", m);
  for (uint32_t i = 0; i < table.num_buffers; ++i) {
    const pmrt_buffer &of = table.buffers[i];
    if (role.info.buffers[i].kind != BufferKind::Output || !of.bytes ||
        (role.perMicroBatch[i] && of.slots != tables.microBatches))
      continue;
    for (uint32_t s = 0; s < of.slots; ++s) {
      const Slot &slot = slotOf(i, s);
      if (!slot.defined.covers(0, of.bytes))
        refuse("undefined", "role ", role.number, ": the output '", of.name,
               "' is not written whole in the step");
      if (slot.writer != i && slot.writer != nothing && written[i])
        refuse("stale", "role ", role.number, ": the output '", of.name,
               "' has lost its place to '", table.buffers[slot.writer].name,
               "'");
    }
  }
}

void StepCheck::run() {
  prepare();
  countRuns();
  for (uint64_t a = 0; a < table.num_actions; ++a) {
    if (table.actions[a].kind == PMRT_RUN) {
      checkRun(a);
      runBody(a);
    } else {
      transfer(a);
    }
  }
  checkEnd();
}

void checkStep(const Tables &tables, const Role &role,
               const std::vector<BodyFacts> &bodies) {
  StepCheck(tables, role, bodies).run();
}

} // namespace pipemesh::proof
