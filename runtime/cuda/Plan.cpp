//===- Plan.cpp - The launches of a step and the events between streams ---===//

#include "cuda/Plan.h"

#include "core/Error.h"
#include "core/Instruction.h"
#include "cuda/Accesses.h"

#include <algorithm>
#include <map>

namespace pipemesh::cuda {

class Plan::Builder {
public:
  Builder(Plan &plan, const std::vector<const pmrt_role *> &roles, uint32_t number)
      : plan(plan), role(*roles[number]), number(number) {}

  void run(const std::vector<LaunchItem> &items,
           const std::vector<uint32_t> &accumulators);

private:
  void findLanes();
  void begin(const std::vector<uint32_t> &accumulators);
  void addBody(uint32_t action);
  void addTransfer(const LaunchItem &item);
  void addCopy(const LaunchItem &item);
  /// Where the copies lie for the accesses: behind everything.
  static constexpr uint64_t copiesBegin = uint64_t(1) << 60;
  void touch(const pmrt_instruction &instruction, uint32_t microBatch);
  void touch(const ArenaRange &range, bool writes) {
    accesses.touch(range.begin, range.end, writes, next(), before);
  }
  void touchWorkspace(uint32_t stream) {
    const pmrt_workspace &own = role.device->workspaces[stream];
    touch({own.offset, own.offset + own.bytes}, /*writes=*/true);
  }
  Accesses::Earlier next() const {
    return {launch.stream, static_cast<uint32_t>(plan.launches.size())};
  }
  void add();
  std::vector<uint32_t> waitsOf(uint32_t stream, std::vector<Accesses::Earlier> &earlier);
  uint32_t eventOf(uint32_t index);
  void shareEvents();

  Plan &plan;
  const pmrt_role &role;
  const uint32_t number;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> streamOf; ///< of a lane
  Accesses accesses;
  Launch launch; ///< the next one
  std::vector<Accesses::Earlier> before;
  /// known[s][t]: launches of stream t that are done once stream s goes on, as the
  /// last one's index + 1.
  std::vector<std::vector<uint32_t>> known;
  std::vector<uint32_t> snapshots; ///< `known` of each launch's stream behind it
  std::vector<uint32_t> sequences; ///< of each stream
  std::map<uint64_t, std::vector<uint64_t>> freeCopies; ///< by their size
  std::map<uint64_t, uint64_t> copyOf; ///< of sends under way, by their action
};

void Plan::Builder::findLanes() {
  for (uint64_t a = 0; a < role.num_actions; ++a) {
    const pmrt_action &action = role.actions[a];
    if (action.kind == PMRT_RUN)
      continue;
    bool sends = action.kind == PMRT_SEND;
    std::pair<uint32_t, uint32_t> lane{sends ? number : action.peer,
                                       sends ? action.peer : number};
    streamOf.try_emplace(lane, 0);
  }
  for (auto &[lane, stream] : streamOf) {
    stream = plan.numStreams();
    plan.lanes.push_back({lane.first, lane.second});
  }
  plan.inUse.assign(plan.numStreams(), false);
  known.assign(plan.numStreams(), std::vector<uint32_t>(plan.numStreams()));
  sequences.assign(plan.numStreams(), 0);
}

/// The event behind a launch, which then has one.
uint32_t Plan::Builder::eventOf(uint32_t index) {
  Launch &earlier = plan.launches[index];
  if (earlier.records < 0)
    earlier.records = static_cast<int32_t>(plan.events++);
  return static_cast<uint32_t>(earlier.records);
}

std::vector<uint32_t>
Plan::Builder::waitsOf(uint32_t stream, std::vector<Accesses::Earlier> &earlier) {
  uint32_t count = plan.numStreams();
  std::vector<uint32_t> last(count); // index + 1
  for (const Accesses::Earlier &one : earlier)
    if (one.stream != stream)
      last[one.stream] = std::max(last[one.stream], one.operation + 1);
  std::vector<uint32_t> &own = known[stream];
  std::vector<uint32_t> made;
  auto snapshot = [&](uint32_t index) { return &snapshots[index * count]; };
  for (uint32_t t = 0; t < count; ++t) {
    if (last[t] <= own[t])
      continue;
    bool implied = false;
    for (uint32_t u = 0; u < count && !implied; ++u)
      implied = u != t && last[u] > own[u] && snapshot(last[u] - 1)[t] >= last[t];
    if (!implied)
      made.push_back(last[t] - 1);
  }
  std::vector<uint32_t> result;
  for (uint32_t index : made) {
    result.push_back(eventOf(index));
    uint32_t t = plan.launches[index].stream;
    for (uint32_t u = 0; u < count; ++u)
      own[u] = std::max(own[u], snapshot(index)[u]);
    own[t] = std::max(own[t], index + 1);
  }
  return result;
}

void Plan::Builder::add() {
  uint32_t stream = launch.stream;
  auto index = static_cast<uint32_t>(plan.launches.size());
  // A stream's first launch comes behind the beginning of the step.
  if (!plan.inUse[stream] && index)
    before.push_back({ComputeStream, 0});
  std::vector<uint32_t> events = waitsOf(stream, before);
  launch.firstWait = static_cast<uint32_t>(plan.waits.size());
  launch.waits = static_cast<uint32_t>(events.size());
  plan.waits.insert(plan.waits.end(), events.begin(), events.end());
  plan.inUse[stream] = true;
  plan.launches.push_back(launch);
  known[stream][stream] = index + 1;
  snapshots.insert(snapshots.end(), known[stream].begin(), known[stream].end());
  before.clear();
  launch = {};
}

void Plan::Builder::touch(const pmrt_instruction &instruction, uint32_t microBatch) {
  for (uint32_t access : {PMRT_READ, PMRT_WRITE})
    for (uint32_t o = 0; o < instruction.num_operands; ++o)
      if (instruction.operands[o].access & access)
        touch(rangeOf(role, instruction.operands[o], microBatch),
              access == PMRT_WRITE);
}

static bool hasLoops(const pmrt_body &body) {
  return std::any_of(body.instructions, body.instructions + body.num_instructions,
                     [](const pmrt_instruction &instruction) {
                       return instruction.opcode == PMRT_OP_JUMP ||
                              instruction.opcode == PMRT_OP_SWITCH;
                     });
}

void Plan::Builder::addBody(uint32_t index) {
  const pmrt_action &action = role.actions[index];
  const pmrt_body &body = role.bodies[action.index];
  uint32_t microBatch = isOnce(body) ? 0 : action.micro_batch;
  if (hasLoops(body)) {
    plan.problem = runtime::cat("'", body.name,
                                "' has a loop or a choice whose length the host reads");
    launch.action = index;
    for (uint64_t i = 0; i < body.num_instructions; ++i)
      touch(body.instructions[i], microBatch);
    // Its collectives pack where those of the other stream do.
    touchWorkspace(CollectiveStream);
    return add();
  }
  for (uint64_t i = 0; i < body.num_instructions; ++i) {
    const pmrt_instruction &instruction = body.instructions[i];
    // What follows waits for the bytes themselves.
    if (instruction.opcode == PMRT_OP_WAIT)
      continue;
    launch.action = index;
    launch.instruction = static_cast<uint32_t>(i);
    if (runtime::isCollective(instruction)) {
      launch.stream = instruction.event ? StartedStream : CollectiveStream;
      launch.sequence = ++sequences[launch.stream];
      touchWorkspace(launch.stream);
    }
    touch(instruction, microBatch);
    add();
  }
}

void Plan::Builder::addTransfer(const LaunchItem &item) {
  const pmrt_action &action = role.actions[item.action];
  bool sends = action.kind == PMRT_SEND;
  launch.action = static_cast<uint32_t>(item.action);
  launch.stream = streamOf.at(
      {sends ? number : action.peer, sends ? action.peer : number});
  launch.sequence = ++sequences[launch.stream];
  launch.joinsPrevious = item.joinsPrevious;
  ArenaRange range = rangeOf(role, action);
  if (item.isCopied) {
    uint64_t bytes = range.end - range.begin, place = copyOf.at(item.action);
    launch.isCopied = true;
    launch.copyAt = place;
    range = {copiesBegin + place, copiesBegin + place + bytes};
    freeCopies[bytes].push_back(place);
  }
  touch(range, !sends);
  add();
}

void Plan::Builder::addCopy(const LaunchItem &item) {
  ArenaRange range = rangeOf(role, role.actions[item.action]);
  uint64_t bytes = range.end - range.begin;
  std::vector<uint64_t> &free = freeCopies[bytes];
  uint64_t place = plan.copies;
  if (free.empty()) {
    plan.copies += (bytes + 255) / 256 * 256;
  } else {
    // The one that has been free for longest.
    place = free.front();
    free.erase(free.begin());
  }
  copyOf[item.action] = place;
  launch.action = static_cast<uint32_t>(item.action);
  launch.copies = true;
  launch.copyAt = place;
  touch(range, /*writes=*/false);
  touch({copiesBegin + place, copiesBegin + place + bytes}, /*writes=*/true);
  add();
}

/// Events whose last wait has been launched are recorded again by later launches.
void Plan::Builder::shareEvents() {
  std::vector<size_t> lastWait(plan.events);
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch &one = plan.launches[i];
    for (uint32_t w = 0; w < one.waits; ++w)
      lastWait[plan.waits[one.firstWait + w]] = i;
  }
  for (uint32_t event : plan.lastWaits)
    lastWait[event] = plan.launches.size();
  std::vector<uint32_t> place(plan.events), free;
  std::multimap<size_t, uint32_t> taken; // by the launch that waits last
  uint32_t count = 0;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    Launch &one = plan.launches[i];
    for (uint32_t w = 0; w < one.waits; ++w)
      plan.waits[one.firstWait + w] = place[plan.waits[one.firstWait + w]];
    // In a group the waits of all come before, and the records behind.
    bool inGroup = one.joinsPrevious || (i + 1 < plan.launches.size() &&
                                         plan.launches[i + 1].joinsPrevious);
    if (!inGroup)
      for (auto at = taken.begin(); at != taken.end() && at->first <= i;
           at = taken.erase(at))
        free.push_back(at->second);
    if (one.records < 0)
      continue;
    uint32_t own = free.empty() ? count++ : free.back();
    if (!free.empty())
      free.pop_back();
    place[one.records] = own;
    taken.emplace(lastWait[one.records], own);
    one.records = static_cast<int32_t>(own);
  }
  for (uint32_t &event : plan.lastWaits)
    event = place[event];
  plan.events = count;
}

void Plan::Builder::begin(const std::vector<uint32_t> &accumulators) {
  launch.action = Launch::whole;
  for (uint32_t index : accumulators) {
    const pmrt_buffer &buffer = role.buffers[index];
    for (uint32_t slot = 0; slot < buffer.slots; ++slot) {
      uint64_t begin = buffer.offset + slot * buffer.slot_stride;
      touch({begin, begin + buffer.bytes}, /*writes=*/true);
    }
  }
  add();
}

void Plan::Builder::run(const std::vector<LaunchItem> &items,
                        const std::vector<uint32_t> &accumulators) {
  findLanes();
  begin(accumulators);
  for (const LaunchItem &item : items) {
    if (item.copies)
      addCopy(item);
    else if (role.actions[item.action].kind == PMRT_RUN)
      addBody(static_cast<uint32_t>(item.action));
    else
      addTransfer(item);
  }
  // The compute stream ends behind all others.
  for (uint32_t i = 0; i < plan.launches.size(); ++i)
    before.push_back({plan.launches[i].stream, i});
  plan.lastWaits = waitsOf(ComputeStream, before);
  shareEvents();
}

Plan::Plan(const ClusterOrder &order, const std::vector<const pmrt_role *> &roles,
           uint32_t role, const std::vector<uint32_t> &accumulators) {
  Builder(*this, roles, role).run(order.of(role), accumulators);
}

std::vector<uint32_t> accumulatorsOf(const runtime::RoleInfo &info) {
  std::vector<uint32_t> accumulators;
  for (uint32_t b = 0; b < info.buffers.size(); ++b)
    if (info.buffers[b].kind == runtime::BufferKind::Accumulator &&
        info.buffers[b].init == runtime::BufferInit::Zero)
      accumulators.push_back(b);
  return accumulators;
}

std::vector<Plan> planRoles(const std::vector<const pmrt_role *> &roles,
                            const std::vector<runtime::RoleInfo> &infos) {
  ClusterOrder order(roles);
  std::vector<Plan> plans;
  for (uint32_t r = 0; r < roles.size(); ++r)
    plans.emplace_back(order, roles, r, accumulatorsOf(infos[r]));
  return plans;
}

/// Parts begin where the driver's own allocations do.
static uint64_t alignPart(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

DeviceMemory::DeviceMemory(const pmrt_role &role, uint64_t microBatches,
                           const Plan &plan)
    : coordinatesAt(alignPart(role.arena_bytes)),
      copiesAt(
          alignPart(coordinatesAt + microBatches * role.num_axes * sizeof(int64_t))),
      bytes(copiesAt + alignPart(plan.copyBytes() + 1)) {}

} // namespace pipemesh::cuda
