//===- Flow.cpp - The ways through a body ---------------------------------===//

#include "check/Flow.h"

#include <algorithm>
#include <set>

namespace pipemesh::proof {

static const pmrt_jump &jumpOf(const pmrt_instruction &instruction) {
  return *static_cast<const pmrt_jump *>(instruction.descriptor);
}

Flow::Flow(const Role &role, uint32_t number)
    : role(role), number(number), body(role.table.bodies[number]) {
  findBlocks();
  orderBlocks();
  findMeetings();
}

bool Flow::endsInSwitch(uint32_t block) const {
  const FlowBlock &of = list[block];
  return of.end > of.begin &&
         body.instructions[of.end - 1].opcode == PMRT_OP_SWITCH;
}

void Flow::findBlocks() {
  std::set<uint64_t> begins = {0, body.num_instructions};
  for (uint64_t i = 0; i < body.num_instructions; ++i)
    if (isJump(body.instructions[i])) {
      begins.insert(i + 1);
      const pmrt_jump &jump = jumpOf(body.instructions[i]);
      begins.insert(jump.targets, jump.targets + jump.num_targets);
    }
  std::vector<uint64_t> edges(begins.begin(), begins.end());
  for (size_t i = 0; i + 1 < edges.size(); ++i)
    list.push_back({edges[i], edges[i + 1]});
  list.push_back({body.num_instructions, body.num_instructions});
  auto blockAt = [&](uint64_t instruction) {
    return static_cast<uint32_t>(
        std::lower_bound(edges.begin(), edges.end(), instruction) -
        edges.begin());
  };
  for (uint32_t b = 0; b + 1 < list.size(); ++b) {
    std::vector<uint32_t> &next = list[b].successors;
    const pmrt_instruction &last = body.instructions[list[b].end - 1];
    if (isJump(last)) {
      const pmrt_jump &jump = jumpOf(last);
      for (uint32_t t = 0; t < jump.num_targets; ++t)
        next.push_back(blockAt(jump.targets[t]));
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
    } else {
      next.push_back(b + 1);
    }
    for (uint32_t other : next)
      list[other].predecessors.push_back(b);
  }
}

/// Every block that is reached has a way to the end.
void Flow::orderBlocks() {
  std::vector<uint8_t> seen(list.size());
  std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
  seen[0] = 1;
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    if (next < list[block].successors.size()) {
      uint32_t other = list[block].successors[next++];
      if (!seen[other]) {
        seen[other] = 1;
        stack.push_back({other, 0});
      }
      continue;
    }
    reached.push_back(block);
    stack.pop_back();
  }
  std::reverse(reached.begin(), reached.end());

  std::vector<uint8_t> ends(list.size());
  std::vector<uint32_t> work = {exit()};
  ends[exit()] = 1;
  while (!work.empty()) {
    uint32_t block = work.back();
    work.pop_back();
    for (uint32_t other : list[block].predecessors)
      if (!ends[other]) {
        ends[other] = 1;
        work.push_back(other);
      }
  }
  for (uint32_t block : reached)
    if (!ends[block])
      refuse("cycle", describe(role, number, list[block].end - 1),
             " is in a loop that has no way out");
}

/// Immediate post-dominators, by Cooper, Harvey and Kennedy's iteration.
void Flow::findMeetings() {
  constexpr uint32_t none = ~0u;
  meeting.assign(list.size(), none);
  if (isStraight())
    return;
  // Numbers of a walk back from the end.
  std::vector<uint32_t> postorder(list.size(), none), order;
  std::vector<uint8_t> seen(list.size());
  std::vector<std::pair<uint32_t, size_t>> stack = {{exit(), 0}};
  seen[exit()] = 1;
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    if (next < list[block].predecessors.size()) {
      uint32_t other = list[block].predecessors[next++];
      if (!seen[other]) {
        seen[other] = 1;
        stack.push_back({other, 0});
      }
      continue;
    }
    postorder[block] = static_cast<uint32_t>(order.size());
    order.push_back(block);
    stack.pop_back();
  }
  meeting[exit()] = exit();
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      if (*block == exit())
        continue;
      uint32_t common = none;
      for (uint32_t other : list[*block].successors) {
        if (meeting[other] == none)
          continue;
        if (common == none) {
          common = other;
          continue;
        }
        uint32_t a = common, b = other;
        while (a != b) {
          while (postorder[a] < postorder[b])
            a = meeting[a];
          while (postorder[b] < postorder[a])
            b = meeting[b];
        }
        common = a;
      }
      changed |= meeting[*block] != common;
      meeting[*block] = common;
    }
  }
}

std::vector<uint32_t> Flow::decidedBy(uint32_t block) const {
  std::vector<uint32_t> found;
  if (list[block].successors.size() < 2)
    return found;
  std::vector<uint8_t> seen(list.size());
  std::vector<uint32_t> work = list[block].successors;
  while (!work.empty()) {
    uint32_t other = work.back();
    work.pop_back();
    if (other == meeting[block] || seen[other])
      continue;
    seen[other] = 1;
    found.push_back(other);
    work.insert(work.end(), list[other].successors.begin(),
                list[other].successors.end());
  }
  return found;
}

} // namespace pipemesh::proof
