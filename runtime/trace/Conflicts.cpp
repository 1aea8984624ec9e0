//===- Conflicts.cpp - Does each access come when the program has it? -----===//

#include "trace/Match.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace pipemesh::trace {

namespace {

/// Walks over the ops in the order of the program and keeps, for each byte, who
/// wrote it last and who has read it since.
class ConflictCheck {
public:
  ConflictCheck(const Rank &rank, uint32_t number, const Program &program,
                const Match &match, Refusals &refusals)
      : rank(rank), timeline(rank.timeline), number(number), program(program),
        match(match), refusals(refusals) {}

  void run();

private:
  struct Cell {
    uint64_t end;
    uint32_t writer = none;
    std::vector<uint32_t> readers; ///< the last one of each stream
  };
  using Cells = std::map<uint64_t, Cell>; ///< by begin

  void one(uint32_t op);
  void access(uint32_t op, Range range, bool writes);
  void checkMemory(uint32_t op, const Range &range);
  /// Splits cells at an address.
  void cut(uint64_t at);
  void check(uint32_t before, uint32_t op, uint64_t begin, uint64_t end,
             bool writes, bool wrote);
  std::string nameOf(uint64_t begin) const;

  const Rank &rank;
  const Timeline &timeline;
  uint32_t number;
  const Program &program;
  const Match &match;
  Refusals &refusals;
  Cells cells;
  bool isDeclared = false; ///< the bytes are not those that the call names
  std::set<std::pair<uint32_t, uint32_t>> told; ///< calls
};

} // namespace

std::string ConflictCheck::nameOf(uint64_t begin) const {
  if (begin < match.base || begin >= match.base + program.role.arena_bytes)
    return "outside of the arena";
  return cat("of ", program.nameOf(begin - match.base));
}

void ConflictCheck::check(uint32_t before, uint32_t op, uint64_t begin,
                          uint64_t end, bool writes, bool wrote) {
  if (timeline.isBefore(before, op))
    return;
  uint32_t first = timeline.ops[before].call, second = timeline.ops[op].call;
  // A fault comes again in each step.
  if (told.size() >= 4 || !told.insert({first, second}).second)
    return;
  bool isReversed = timeline.isBefore(op, before);
  refusals.add(
      "race", describe(rank, number, program, match, op),
      writes ? " writes" : " reads", " bytes [", begin, ", ", end, ") ",
      nameOf(begin), ", which ", describe(rank, number, program, match, before),
      wrote ? " has to have written" : " has to have read", " before, but ",
      isReversed
          ? "runs behind it"
          : cat("nothing orders streams ", rank.trace.calls[first].stream,
                " and ", rank.trace.calls[second].stream, " there"));
}

void ConflictCheck::cut(uint64_t at) {
  auto found = cells.upper_bound(at);
  if (found == cells.begin())
    return;
  --found;
  if (found->first == at || found->second.end <= at)
    return;
  Cell right = found->second;
  found->second.end = at;
  cells.emplace_hint(std::next(found), at, std::move(right));
}

/// What a kernel may touch is allocated; other calls name their bytes and have
/// been checked.
void ConflictCheck::checkMemory(uint32_t op, const Range &range) {
  for (const Range &block : timeline.memory)
    if (range.begin >= block.begin && range.end <= block.end)
      return;
  if (told.insert({timeline.ops[op].call, none}).second)
    refusals.add("memory", describe(rank, number, program, match, op),
                 " may touch bytes [", range.begin, ", ", range.end,
                 "), which lie in nothing that the rank has allocated");
}

void ConflictCheck::access(uint32_t op, Range range, bool writes) {
  if (isDeclared)
    checkMemory(op, range);
  cut(range.begin);
  cut(range.end);
  auto at = cells.lower_bound(range.begin);
  if (writes) {
    auto first = at;
    for (; at != cells.end() && at->first < range.end; ++at) {
      Cell &cell = at->second;
      if (cell.writer != none && cell.writer != op)
        check(cell.writer, op, at->first, cell.end, true, true);
      for (uint32_t reader : cell.readers)
        if (reader != op)
          check(reader, op, at->first, cell.end, true, false);
    }
    at = cells.erase(first, at);
    cells.emplace_hint(at, range.begin, Cell{range.end, op, {}});
    return;
  }
  uint32_t stream = timeline.ops[op].stream, tick = timeline.ops[op].tick;
  for (uint64_t begin = range.begin; begin < range.end;) {
    if (at == cells.end() || at->first > begin) {
      // Bytes that nothing has written.
      uint64_t end =
          at == cells.end() ? range.end : std::min(at->first, range.end);
      at = cells.emplace_hint(at, begin, Cell{end, none, {}});
    }
    Cell &cell = at->second;
    if (cell.writer != none && cell.writer != op)
      check(cell.writer, op, begin, cell.end, false, true);
    bool isKnown = false;
    for (uint32_t &reader : cell.readers)
      if (timeline.ops[reader].stream == stream) {
        isKnown = true;
        if (timeline.ops[reader].tick < tick)
          reader = op;
      }
    if (!isKnown)
      cell.readers.push_back(op);
    begin = cell.end;
    ++at;
  }
}

void ConflictCheck::one(uint32_t op) {
  const Call &call = rank.trace.calls[timeline.ops[op].call];
  isDeclared = false;
  auto all = [&](const Slice &slice, bool writes) {
    for (uint32_t i = 0; i < slice.count; ++i)
      access(op, rank.trace.ranges[slice.first + i], writes);
  };
  if (call.kind == Kind::WriteValue) {
    access(op, {call.address, call.address + 4}, true);
    return;
  }
  if (call.kind != Kind::Launch) {
    if (call.kind == Kind::GraphLaunch)
      return;
    all(call.reads, false);
    if ((call.kind == Kind::Product || call.kind == Kind::Attention) &&
        call.parameters.count) {
      uint64_t begin = rank.trace.numbers[call.parameters.first];
      uint64_t bytes = rank.trace.numbers[call.parameters.first + 1];
      isDeclared = true;
      if (bytes)
        access(op, {begin, begin + bytes}, true);
      isDeclared = false;
    }
    all(call.writes, true);
    return;
  }
  uint32_t expected = match.expected[op];
  if (expected == none)
    return;
  isDeclared = true;
  uint32_t operands = program.operandsOf(expected);
  const uint64_t *parameters =
      rank.trace.numbers.data() + call.parameters.first;
  access(
      op,
      {parameters[operands], parameters[operands] + 8 * program.role.num_axes},
      false);
  for (bool writes : {false, true})
    for (uint32_t i = 0; i < operands; ++i) {
      Access place = program.accessOf(expected, i);
      if (place.begin < place.end && (writes ? place.writes : place.reads))
        access(op, {match.base + place.begin, match.base + place.end}, writes);
    }
  if (uint64_t bytes = program.kernelOf(expected).scratch_bytes)
    access(op, {parameters[operands + 1], parameters[operands + 1] + bytes},
           true);
}

void ConflictCheck::run() {
  std::vector<uint32_t> order(timeline.ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(match.order[a], a) < std::pair(match.order[b], b);
  });
  for (uint32_t op : order)
    one(op);
}

void checkConflicts(const Rank &rank, uint32_t number, const Program &program,
                    const Match &match, Refusals &refusals) {
  ConflictCheck(rank, number, program, match, refusals).run();
}

} // namespace pipemesh::trace
