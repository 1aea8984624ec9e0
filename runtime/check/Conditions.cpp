//===- Conditions.cpp - Do all members of a collective reach it? ----------===//

#include "check/Conditions.h"

#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace pipemesh::proof {

using runtime::AxisKind;

namespace {

/// Sets of mesh axes along which ranks may hold different values.
using Axes = uint64_t;

/// The axes of each byte that is known; all others have those of `unknown`.
class ByteAxes {
public:
  Axes get(uint64_t begin, uint64_t end, Axes unknown) const {
    Axes all = 0;
    uint64_t next = begin;
    for (auto entry = firstBehind(begin); entry != list.end() &&
                                          entry->first < end; ++entry) {
      if (entry->first > next)
        all |= unknown;
      all |= entry->second.axes;
      next = entry->second.end;
    }
    return next < end ? all | unknown : all;
  }

  void set(uint64_t begin, uint64_t end, Axes axes) {
    if (begin >= end)
      return;
    auto entry = firstBehind(begin);
    while (entry != list.end() && entry->first < end) {
      uint64_t oldBegin = entry->first, oldEnd = entry->second.end;
      Axes old = entry->second.axes;
      entry = list.erase(entry);
      if (oldBegin < begin)
        list[oldBegin] = {begin, old};
      if (oldEnd > end)
        list[end] = {oldEnd, old};
    }
    list[begin] = {end, axes};
  }

  /// Takes what either of two ways brings; false where nothing changes.
  bool join(const ByteAxes &other, Axes unknown) {
    ByteAxes joined;
    std::vector<uint64_t> edges;
    for (const ByteAxes *of : {static_cast<const ByteAxes *>(this), &other})
      for (auto &[begin, part] : of->list) {
        edges.push_back(begin);
        edges.push_back(part.end);
      }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    bool changed = false;
    for (size_t i = 0; i + 1 < edges.size(); ++i) {
      Axes own = get(edges[i], edges[i + 1], unknown);
      Axes both = own | other.get(edges[i], edges[i + 1], unknown);
      changed |= both != own;
      joined.list[edges[i]] = {edges[i + 1], both};
    }
    if (changed)
      list = std::move(joined.list);
    return changed;
  }

private:
  struct Part {
    uint64_t end;
    Axes axes;
  };
  std::map<uint64_t, Part>::const_iterator firstBehind(uint64_t begin) const {
    auto entry = list.upper_bound(begin);
    if (entry != list.begin() && std::prev(entry)->second.end > begin)
      --entry;
    return entry;
  }
  std::map<uint64_t, Part>::iterator firstBehind(uint64_t begin) {
    auto entry = list.upper_bound(begin);
    if (entry != list.begin() && std::prev(entry)->second.end > begin)
      --entry;
    return entry;
  }
  std::map<uint64_t, Part> list;
};

using State = std::map<int64_t, ByteAxes>; // by place; scratch is -1

/// The axes of buffers, by place, of one role.
using BufferAxes = std::vector<Axes>;

class BodyConditions {
public:
  BodyConditions(const Role &role, uint32_t number, BufferAxes &buffers)
      : role(role), number(number), body(role.table.bodies[number]),
        flow(role, number), buffers(buffers), condition(flow.blocks().size()),
        control(flow.blocks().size()), before(flow.blocks().size()) {
    for (uint32_t block : flow.order())
      if (flow.endsInSwitch(block))
        decided.push_back({block, flow.decidedBy(block)});
  }

  /// Finds the axes of conditions and of what is written; true where a buffer
  /// got some.
  bool follow();
  /// Refuses a collective that some of its members may not reach.
  void check() const;

private:
  Axes everything() const {
    return role.table.num_axes >= 64 ? ~Axes(0)
                                     : (Axes(1) << role.table.num_axes) - 1;
  }
  int64_t placeOf(const pmrt_operand &operand) const {
    return operand.buffer == PMRT_SCRATCH
               ? -1
               : static_cast<int64_t>(role.place[operand.buffer]);
  }
  Axes unknown(int64_t place) const {
    return place < 0 ? everything() : buffers[place];
  }
  Axes axesOf(const pmrt_instruction &collective) const {
    const pmrt_communicator &info =
        role.table.communicators[communicatorOf(collective)];
    Axes set = 0;
    for (uint32_t i = 0; i < info.num_axes; ++i)
      set |= Axes(1) << info.axes[i];
    return set;
  }
  Axes read(const pmrt_operand &operand, const State &state) const {
    int64_t place = placeOf(operand);
    auto found = state.find(place);
    static const ByteAxes nothing;
    return (found == state.end() ? nothing : found->second)
        .get(operand.offset, operand.offset + operand.bytes, unknown(place));
  }
  void step(const pmrt_instruction &instruction, uint32_t block, State &state);
  bool followBlocks();

  const Role &role;
  uint32_t number;
  const pmrt_body &body;
  Flow flow;
  BufferAxes &buffers;
  std::vector<Axes> condition, control;
  std::vector<std::optional<State>> before;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> decided;
  bool changed = false;
};

} // namespace

void BodyConditions::step(const pmrt_instruction &instruction, uint32_t block,
                          State &state) {
  Axes all = 0;
  for (uint32_t o = 0; o < instruction.num_operands; ++o)
    if (instruction.operands[o].access & PMRT_READ)
      all |= read(instruction.operands[o], state);
  for (uint32_t o = 0; o < instruction.num_operands; ++o) {
    const pmrt_operand &operand = instruction.operands[o];
    if (!(operand.access & PMRT_WRITE))
      continue;
    Axes axes = all;
    switch (instruction.opcode) {
    case PMRT_OP_ALL_REDUCE:
      axes = read(operand, state) & ~axesOf(instruction);
      break;
    case PMRT_OP_ALL_GATHER:
      axes &= ~axesOf(instruction);
      break;
    case PMRT_OP_REDUCE_SCATTER:
    case PMRT_OP_ALL_TO_ALL:
    case PMRT_OP_PERMUTE:
      axes |= axesOf(instruction);
      break;
    default:
      break;
    }
    axes |= control[block];
    int64_t place = placeOf(operand);
    state[place].set(operand.offset, operand.offset + operand.bytes, axes);
    if (place >= 0 && (buffers[place] | axes) != buffers[place]) {
      buffers[place] |= axes;
      changed = true;
    }
  }
}

/// One walk over the blocks; true where a condition got axes.
bool BodyConditions::followBlocks() {
  bool more = false;
  for (auto &state : before)
    state.reset();
  before[0].emplace();
  for (bool again = true; again;) {
    again = false;
    for (uint32_t block : flow.order()) {
      if (!before[block])
        continue;
      State state = *before[block];
      for (uint64_t i = flow.blocks()[block].begin;
           i < flow.blocks()[block].end; ++i)
        step(body.instructions[i], block, state);
      if (flow.endsInSwitch(block)) {
        Axes axes = read(
            body.instructions[flow.blocks()[block].end - 1].operands[0], state);
        more |= (condition[block] | axes) != condition[block];
        condition[block] |= axes;
      }
      for (uint32_t next : flow.blocks()[block].successors) {
        if (!before[next]) {
          before[next] = state;
          again = true;
          continue;
        }
        State &into = *before[next];
        for (auto &[place, bytes] : state)
          again |= into[place].join(bytes, unknown(place));
        static const ByteAxes nothing;
        for (auto &[place, bytes] : into)
          if (!state.count(place))
            again |= bytes.join(nothing, unknown(place));
      }
    }
  }
  return more;
}

bool BodyConditions::follow() {
  changed = false;
  while (followBlocks())
    for (auto &[block, others] : decided)
      for (uint32_t other : others)
        control[other] |= condition[block];
  return changed;
}

void BodyConditions::check() const {
  for (auto &[chooser, others] : decided)
    for (uint32_t block : others)
      for (uint64_t i = flow.blocks()[block].begin;
           i < flow.blocks()[block].end; ++i) {
        const pmrt_instruction &instruction = body.instructions[i];
        if (!isCollective(instruction))
          continue;
        uint32_t communicator = communicatorOf(instruction);
        if (membersOf(role.table, communicator) < 2)
          continue;
        uint64_t at = flow.blocks()[chooser].end - 1;
        if (spansRoles(role.table, communicator))
          refuse("condition", describe(role, number, i),
                 " meets other roles, but ",
                 describe(body.instructions[at]), ", instruction ", at,
                 ", decides whether it runs");
        Axes differing = condition[chooser] & axesOf(instruction);
        std::string names;
        for (uint32_t a = 0; a < role.table.num_axes; ++a)
          if (differing >> a & 1)
            names += cat(names.empty() ? "'" : ", '", role.table.axes[a].name,
                         "'");
        if (differing)
          refuse("condition", describe(role, number, i), " runs where ",
                 describe(body.instructions[at]), ", instruction ", at,
                 ", says so, whose operand may differ between the ranks along ",
                 names, ", which meet there");
      }
}

std::vector<std::string>
checkConditions(const Tables &tables,
                const std::vector<std::vector<BodyFacts>> &bodies) {
  std::vector<std::string> relied;
  for (size_t r = 0; r < tables.roles.size(); ++r)
    for (uint32_t b = 0; b < tables.roles[r].table.num_bodies; ++b)
      for (uint64_t i : bodies[r][b].conditional)
        if (membersOf(tables.roles[r].table,
                      communicatorOf(
                          tables.roles[r].table.bodies[b].instructions[i])) >
            1) {
          relied.push_back(cat("role ", r, ", '",
                               tables.roles[r].table.bodies[b].name, "'"));
          break;
        }
  if (relied.empty())
    return relied;

  // What buffers hold before the step.
  std::vector<BufferAxes> buffers;
  for (const Role &role : tables.roles) {
    BufferAxes &axes = buffers.emplace_back(role.table.num_buffers);
    for (uint32_t i = 0; i < role.table.num_buffers; ++i)
      for (const auto &names : role.info.buffers[i].sharding)
        for (const std::string &name : names)
          axes[role.place[i]] |= Axes(1) << tables.manifest.mesh.axis(name);
  }
  std::vector<BodyConditions> all;
  for (size_t r = 0; r < tables.roles.size(); ++r)
    for (uint32_t b = 0; b < tables.roles[r].table.num_bodies; ++b)
      all.emplace_back(tables.roles[r], b, buffers[r]);
  // What is received differs as it does at its sender.
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> edges;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> known;
  for (const Role &role : tables.roles)
    for (uint64_t i = 0; i < role.table.num_actions; ++i) {
      const pmrt_action &action = role.table.actions[i];
      if (action.kind != PMRT_RECEIVE ||
          !known.insert({role.number, action.index, action.peer}).second)
        continue;
      const Role &sender = tables.roles[action.peer];
      int64_t from = sender.info.find(role.table.buffers[action.index].name);
      if (from >= 0)
        edges.insert({action.peer, sender.place[from], role.number,
                      role.place[action.index]});
    }
  // Sets only grow, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (BodyConditions &body : all)
      changed |= body.follow();
    for (auto &[sender, from, receiver, to] : edges) {
      Axes both = buffers[receiver][to] | buffers[sender][from];
      changed |= both != buffers[receiver][to];
      buffers[receiver][to] = both;
    }
  }
  for (const BodyConditions &body : all)
    body.check();
  return relied;
}

} // namespace pipemesh::proof
