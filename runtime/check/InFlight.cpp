//===- InFlight.cpp -------------------------------------------------------===//
//
// Instructions are read in the order in which they stand. That is the order in
// which they run but for jumps, and neither a start nor a wait may be what a
// switch decides on: so none is in a loop, and no loop goes over one.
//
//===----------------------------------------------------------------------===//

#include "check/InFlight.h"

#include "check/Flow.h"

#include <map>
#include <set>

namespace pipemesh::proof {

namespace {

/// Before an update the ranks look at buffers up to this size.
constexpr uint64_t votedBytes = 256;

class InFlightCheck {
public:
  explicit InFlightCheck(const Role &role) : role(role), table(role.table) {}

  void run();

private:
  struct Range {
    uint32_t place;
    uint64_t begin, end; ///< from the beginning of slot 0
  };
  struct Started {
    uint32_t body;
    uint64_t instruction;
    std::vector<Range> ranges;
  };

  bool hasEvents(uint32_t body);
  Range rangeOf(uint32_t buffer, uint32_t microBatch, bool once,
                uint64_t offset, uint64_t bytes) const;
  /// The event that a range is on its way for; 0 where it is not.
  uint32_t eventOf(const Range &range) const;
  void runBody(const pmrt_action &action);
  void start(const pmrt_action &action, uint64_t instruction);

  const Role &role;
  const pmrt_role &table;
  std::map<uint32_t, Started> onTheirWay; ///< by event
  std::set<uint32_t> started;
  std::map<uint32_t, bool> known; ///< hasEvents, by body
};

} // namespace

bool InFlightCheck::hasEvents(uint32_t number) {
  auto [entry, isNew] = known.try_emplace(number, false);
  if (!isNew)
    return entry->second;
  const pmrt_body &body = table.bodies[number];
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    entry->second |= body.instructions[i].event != 0;
  if (!entry->second)
    return false;
  Flow flow(role, number);
  for (uint32_t block = 0; block < flow.exit(); ++block) {
    if (!flow.endsInSwitch(block))
      continue;
    for (uint32_t decided : flow.decidedBy(block))
      for (uint64_t i = flow.blocks()[decided].begin;
           i < flow.blocks()[decided].end; ++i)
        if (body.instructions[i].event)
          refuse("event", describe(role, number, i),
                 " stands in a loop or a choice: it may run never or often");
  }
  // What no way leads to never runs.
  std::set<uint32_t> reached(flow.order().begin(), flow.order().end());
  for (uint32_t block = 0; block < flow.exit(); ++block)
    for (uint64_t i = flow.blocks()[block].begin;
         !reached.count(block) && i < flow.blocks()[block].end; ++i)
      if (body.instructions[i].event)
        refuse("event", describe(role, number, i), " is never reached");
  return true;
}

InFlightCheck::Range InFlightCheck::rangeOf(uint32_t buffer,
                                            uint32_t microBatch, bool once,
                                            uint64_t offset,
                                            uint64_t bytes) const {
  const pmrt_buffer &of = table.buffers[buffer];
  uint64_t begin =
      offset + (once ? 0 : microBatch % of.slots * of.slot_stride);
  return {role.place[buffer], begin, begin + bytes};
}

uint32_t InFlightCheck::eventOf(const Range &range) const {
  for (const auto &[event, of] : onTheirWay)
    for (const Range &moved : of.ranges)
      if (moved.place == range.place && moved.begin < range.end &&
          range.begin < moved.end)
        return event;
  return 0;
}

void InFlightCheck::start(const pmrt_action &action, uint64_t index) {
  const pmrt_body &body = table.bodies[action.index];
  const pmrt_instruction &instruction = body.instructions[index];
  if (!started.insert(instruction.event).second)
    refuse("event", describe(role, action.index, index), " starts event ",
           instruction.event, " a second time in the step");
  Started &of = onTheirWay[instruction.event];
  of.body = action.index;
  of.instruction = index;
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    if (operand.buffer == PMRT_SCRATCH)
      refuse("event", describe(role, action.index, index), " starts with operand ",
             o, " in the scratch region, which the next fragment has");
    const pmrt_buffer &buffer = table.buffers[operand.buffer];
    if (buffer.bytes <= votedBytes)
      refuse("event", describe(role, action.index, index), " starts with '",
             buffer.name, "' of ", buffer.bytes,
             " bytes, which the vote before the update may read");
    of.ranges.push_back(rangeOf(operand.buffer, action.micro_batch,
                                runsOnce(body), operand.offset, operand.bytes));
  }
}

void InFlightCheck::runBody(const pmrt_action &action) {
  const pmrt_body &body = table.bodies[action.index];
  for (uint64_t i = 0; i < body.num_instructions; ++i) {
    const pmrt_instruction &instruction = body.instructions[i];
    if (instruction.opcode == PMRT_OP_WAIT) {
      if (!onTheirWay.erase(instruction.event))
        refuse("event", describe(role, action.index, i), " waits for event ",
               instruction.event, ", which is not on its way");
      continue;
    }
    for (uint32_t o = 0; o < instruction.num_operands && !onTheirWay.empty();
         ++o) {
      const pmrt_operand &operand = instruction.operands[o];
      if (operand.buffer == PMRT_SCRATCH || !operand.bytes)
        continue;
      uint32_t event =
          eventOf(rangeOf(operand.buffer, action.micro_batch, runsOnce(body),
                          operand.offset, operand.bytes));
      if (!event)
        continue;
      const Started &of = onTheirWay.at(event);
      refuse("race", describe(role, action.index, i), " touches '",
             table.buffers[operand.buffer].name,
             "', which is on its way until event ", event,
             " is waited for; it was started by ",
             describe(role, of.body, of.instruction));
    }
    if (instruction.event)
      start(action, i);
  }
}

void InFlightCheck::run() {
  for (uint64_t a = 0; a < table.num_actions; ++a) {
    const pmrt_action &action = table.actions[a];
    if (action.kind == PMRT_RUN) {
      if (hasEvents(action.index) || !onTheirWay.empty())
        runBody(action);
      continue;
    }
    if (uint32_t event =
            eventOf(rangeOf(action.index, action.micro_batch, false, 0,
                            table.buffers[action.index].bytes)))
      refuse("race", describe(role, a), " moves what is on its way until event ",
             event, " is waited for");
  }
  for (const auto &[event, of] : onTheirWay)
    refuse("event", describe(role, of.body, of.instruction), " starts event ",
           event, ", which nothing waits for in the step");
}

void checkInFlight(const Role &role) { InFlightCheck(role).run(); }

} // namespace pipemesh::proof
