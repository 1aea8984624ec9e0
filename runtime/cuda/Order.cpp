//===- Order.cpp - In what order the ranks launch -------------------------===//

#include "cuda/Order.h"

#include "core/Error.h"
#include "core/Instruction.h"
#include "cuda/Accesses.h"

#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>

namespace pipemesh::cuda {

using runtime::cat;

bool isOnce(const pmrt_body &body) { return runtime::runsOnce(body); }

ArenaRange rangeOf(const pmrt_role &role, const pmrt_operand &operand,
                   uint32_t microBatch) {
  uint64_t base = role.scratch_offset;
  if (operand.buffer != PMRT_SCRATCH) {
    const pmrt_buffer &buffer = role.buffers[operand.buffer];
    base = buffer.offset + (microBatch % buffer.slots) * buffer.slot_stride;
  }
  return {base + operand.offset, base + operand.offset + operand.bytes};
}

ArenaRange rangeOf(const pmrt_role &role, const pmrt_action &transfer) {
  const pmrt_buffer &buffer = role.buffers[transfer.index];
  uint64_t begin =
      buffer.offset + (transfer.micro_batch % buffer.slots) * buffer.slot_stride;
  return {begin, begin + buffer.bytes};
}

namespace {

/// A fragment of one role, or a transfer between two.
struct Node {
  uint32_t role = 0;
  uint64_t action = 0;
  bool isTransfer = false;
  uint32_t receiver = 0;
  uint64_t receive = 0; ///< its action there
  bool isCopied = false; ///< sent from a copy
};

class Orderer {
public:
  explicit Orderer(const std::vector<const pmrt_role *> &roles) : roles(roles) {}

  std::vector<std::vector<LaunchItem>> run() {
    makeNodes();
    joinMeetings();
    while (true) {
      successors.assign(nodes.size(), {});
      copiesBehind.assign(nodes.size(), {});
      for (uint32_t role = 0; role < roles.size(); ++role)
        addEdges(role);
      if (std::optional<std::vector<std::vector<LaunchItem>>> items = sort())
        return *items;
    }
  }

private:
  void makeNodes();
  void joinMeetings();
  void addEdges(uint32_t role);
  std::optional<std::vector<std::vector<LaunchItem>>> sort();
  /// Lets the transfers that stand in circles be sent from copies; throws where all
  /// of them are.
  void copyInCircles(const std::vector<uint32_t> &waiting);
  [[noreturn]] void refuse(const std::vector<uint32_t> &waiting) const;

  uint32_t root(uint32_t node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }

  const std::vector<const pmrt_role *> &roles;
  std::vector<Node> nodes;
  std::vector<std::vector<uint32_t>> nodeOf; ///< of each role's actions
  std::vector<uint32_t> parent;              ///< what is one with what
  std::vector<std::vector<uint32_t>> successors;
  std::vector<std::vector<uint64_t>> copiesBehind; ///< sends, of each fragment
};

void Orderer::makeNodes() {
  // Sends of a channel wait for the receives in their order.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::queue<uint32_t>> sent;
  nodeOf.resize(roles.size());
  for (uint32_t role = 0; role < roles.size(); ++role) {
    nodeOf[role].resize(roles[role]->num_actions);
    for (uint64_t a = 0; a < roles[role]->num_actions; ++a) {
      const pmrt_action &action = roles[role]->actions[a];
      if (action.kind == PMRT_RECEIVE)
        continue;
      Node node;
      node.role = role;
      node.action = a;
      node.isTransfer = action.kind == PMRT_SEND;
      if (node.isTransfer)
        sent[{role, action.peer, action.channel}].push(
            static_cast<uint32_t>(nodes.size()));
      nodeOf[role][a] = static_cast<uint32_t>(nodes.size());
      nodes.push_back(node);
    }
  }
  for (uint32_t role = 0; role < roles.size(); ++role)
    for (uint64_t a = 0; a < roles[role]->num_actions; ++a) {
      const pmrt_action &action = roles[role]->actions[a];
      if (action.kind != PMRT_RECEIVE)
        continue;
      auto &queue = sent[{action.peer, role, action.channel}];
      if (queue.empty())
        runtime::fail("role ", role, " receives '",
                      roles[role]->buffers[action.index].name,
                      "' from role ", action.peer,
                      ", which does not send it; compile the bundle again");
      uint32_t node = queue.front();
      queue.pop();
      nodes[node].receiver = role;
      nodes[node].receive = a;
      nodeOf[role][a] = node;
    }
  parent.resize(nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
}

/// Whether ranks of several roles meet there.
static bool spansRoles(const pmrt_role &role, uint32_t communicator) {
  const pmrt_communicator &info = role.communicators[communicator];
  for (uint32_t i = 0; i < info.num_axes; ++i)
    if (role.axes[info.axes[i]].kind == 2 && role.axes[info.axes[i]].size > 1)
      return true;
  return false;
}

void Orderer::joinMeetings() {
  // The fragments of each communicator over roles, one entry a collective.
  using Key = std::pair<std::vector<uint32_t>, uint32_t>;
  std::map<Key, std::vector<std::vector<uint32_t>>> meetings;
  for (uint32_t r = 0; r < roles.size(); ++r) {
    const pmrt_role &role = *roles[r];
    for (uint64_t a = 0; a < role.num_actions; ++a) {
      if (role.actions[a].kind != PMRT_RUN)
        continue;
      const pmrt_body &body = role.bodies[role.actions[a].index];
      for (uint64_t i = 0; i < body.num_instructions; ++i) {
        const pmrt_instruction &instruction = body.instructions[i];
        if (!runtime::isCollective(instruction))
          continue;
        uint32_t communicator = runtime::communicatorOf(instruction);
        if (!spansRoles(role, communicator))
          continue;
        const pmrt_communicator &info = role.communicators[communicator];
        Key key{{info.axes, info.axes + info.num_axes}, info.lane};
        auto &lists = meetings[key];
        lists.resize(roles.size());
        lists[r].push_back(nodeOf[r][a]);
      }
    }
  }
  for (auto &[key, lists] : meetings)
    for (const auto &list : lists)
      for (size_t i = 0; i < std::min(list.size(), lists[0].size()); ++i)
        parent[root(list[i])] = root(lists[0][i]);
}

void Orderer::addEdges(uint32_t number) {
  const pmrt_role &role = *roles[number];
  // Fragments are in order by themselves: only what transfers touch counts.
  std::map<uint64_t, uint64_t> moved;
  for (uint64_t a = 0; a < role.num_actions; ++a)
    if (role.actions[a].kind != PMRT_RUN) {
      ArenaRange range = rangeOf(role, role.actions[a]);
      uint64_t &end = moved[range.begin];
      end = std::max(end, range.end);
    }
  uint64_t longest = 0;
  for (auto [begin, end] : moved)
    longest = std::max(longest, end - begin);
  auto isMoved = [&](const ArenaRange &range) {
    for (auto at = moved.lower_bound(range.begin > longest ? range.begin - longest : 0);
         at != moved.end() && at->first < range.end; ++at)
      if (at->second > range.begin)
        return true;
    return false;
  };

  Accesses accesses;
  std::vector<Accesses::Earlier> before;
  constexpr uint32_t none = UINT32_MAX;
  uint32_t lastRun = none;
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    uint32_t node = nodeOf[number][a];
    before.clear();
    if (action.kind == PMRT_RUN) {
      const pmrt_body &body = role.bodies[action.index];
      uint32_t microBatch = isOnce(body) ? 0 : action.micro_batch;
      for (uint64_t i = 0; i < body.num_instructions; ++i)
        for (uint32_t o = 0; o < body.instructions[i].num_operands; ++o) {
          const pmrt_operand &operand = body.instructions[i].operands[o];
          if (operand.buffer == PMRT_SCRATCH)
            continue;
          ArenaRange range = rangeOf(role, operand, microBatch);
          if (isMoved(range))
            accesses.touch(range.begin, range.end, operand.access & PMRT_WRITE,
                           {0, node}, before);
        }
      if (lastRun != none)
        before.push_back({0, lastRun});
      lastRun = node;
    } else {
      ArenaRange range = rangeOf(role, action);
      if (action.kind == PMRT_SEND && nodes[node].isCopied) {
        // The copy is made behind the last fragment, and frees the slot.
        accesses.touch(range.begin, range.end, /*writes=*/false, {0, lastRun}, before);
        for (const Accesses::Earlier &earlier : before)
          if (root(earlier.operation) != root(lastRun))
            successors[root(earlier.operation)].push_back(root(lastRun));
        before.assign(1, {0, lastRun});
        copiesBehind[lastRun].push_back(a);
        for (const Accesses::Earlier &earlier : before)
          successors[root(earlier.operation)].push_back(root(node));
        continue;
      }
      // Each transfer is by itself, as on a stream of its own.
      accesses.touch(range.begin, range.end, action.kind == PMRT_RECEIVE,
                     {1 + node, node}, before);
    }
    for (const Accesses::Earlier &earlier : before)
      if (root(earlier.operation) != root(node))
        successors[root(earlier.operation)].push_back(root(node));
  }
}

void Orderer::refuse(const std::vector<uint32_t> &waiting) const {
  std::string text;
  int listed = 0;
  for (uint32_t i = 0; i < nodes.size() && listed < 4; ++i)
    if (waiting[i] && nodes[i].isTransfer) {
      const pmrt_role &role = *roles[nodes[i].role];
      const pmrt_action &action = role.actions[nodes[i].action];
      text += cat(listed++ ? ", " : "", "'", role.buffers[action.index].name,
                  "' of micro-batch ", action.micro_batch, " from role ",
                  nodes[i].role, " to role ", nodes[i].receiver);
    }
  runtime::fail("no order of the transfers is without a wait in a circle once "
                "each takes place at both ends at the same time: ",
                text,
                "; take another schedule, or more micro-batches than stages");
}

void Orderer::copyInCircles(const std::vector<uint32_t> &waiting) {
  // What is left once all that leads nowhere is taken away stands in circles, or
  // between them.
  std::vector<uint32_t> leads(nodes.size());
  std::vector<std::vector<uint32_t>> predecessors(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (root(i) == i && waiting[i])
      for (uint32_t next : successors[i])
        if (waiting[next]) {
          ++leads[i];
          predecessors[next].push_back(i);
        }
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (root(i) == i && waiting[i] && !leads[i])
      ends.push_back(i);
  std::vector<bool> isOut(nodes.size());
  while (!ends.empty()) {
    uint32_t end = ends.back();
    ends.pop_back();
    isOut[end] = true;
    for (uint32_t previous : predecessors[end])
      if (--leads[previous] == 0)
        ends.push_back(previous);
  }
  bool changed = false;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    Node &node = nodes[i];
    // A send in front of every fragment has nothing to be copied behind.
    bool hasFragment = false;
    for (uint64_t a = 0; a < node.action && !hasFragment; ++a)
      hasFragment = roles[node.role]->actions[a].kind == PMRT_RUN;
    if (!node.isTransfer || !waiting[i] || isOut[i] || node.isCopied || !hasFragment)
      continue;
    node.isCopied = changed = true;
  }
  if (!changed)
    refuse(waiting);
}

std::optional<std::vector<std::vector<LaunchItem>>> Orderer::sort() {
  std::vector<uint32_t> waiting(nodes.size());
  std::vector<std::vector<uint32_t>> members(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i)
    members[root(i)].push_back(i);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (uint32_t next : successors[i])
      ++waiting[next];
  // As far as each could be if all fragments took the same time; transfers first.
  std::vector<uint64_t> level(nodes.size());
  using Entry = std::tuple<uint64_t, bool, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto add = [&](uint32_t i) {
    ready.emplace(level[i], !nodes[i].isTransfer, i);
  };
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (root(i) == i && !waiting[i])
      add(i);
  std::vector<std::vector<LaunchItem>> items(roles.size());
  // The lane of the last item of each role where that is a transfer.
  using Lane = std::pair<uint32_t, uint32_t>;
  std::vector<std::pair<bool, Lane>> last(roles.size());
  size_t done = 0;
  while (!ready.empty()) {
    uint32_t group = std::get<2>(ready.top());
    ready.pop();
    for (uint32_t i : members[group]) {
      ++done;
      const Node &node = nodes[i];
      if (!node.isTransfer) {
        items[node.role].push_back({node.action});
        last[node.role].first = false;
        for (uint64_t send : copiesBehind[i]) {
          items[node.role].push_back({send});
          items[node.role].back().copies = true;
        }
        continue;
      }
      Lane lane{node.role, node.receiver};
      std::pair<bool, Lane> own{true, lane};
      bool joins = last[node.role] == own && last[node.receiver] == own;
      items[node.role].push_back({node.action, joins});
      items[node.role].back().isCopied = node.isCopied;
      items[node.receiver].push_back({node.receive, joins});
      last[node.role] = last[node.receiver] = own;
    }
    for (uint32_t next : successors[group]) {
      level[next] = std::max(level[next], level[group] + !nodes[group].isTransfer);
      if (--waiting[next] == 0)
        add(next);
    }
  }
  if (done == nodes.size())
    return items;
  copyInCircles(waiting);
  return std::nullopt;
}

} // namespace

ClusterOrder::ClusterOrder(const std::vector<const pmrt_role *> &roles)
    : items(Orderer(roles).run()) {}

} // namespace pipemesh::cuda
