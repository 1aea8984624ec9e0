//===- Simulate.cpp - runs action lists on costs --------------------------===//

#include "pipemesh/Schedule/Simulate.h"
#include "Check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <limits>

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;

namespace {

constexpr double notYet = std::numeric_limits<double>::infinity();

/// Runs every rank as far as it comes, again and again for those whose value
/// has arrived.
class Engine {
public:
  Engine(const Schedule &schedule, const Costs &costs)
      : schedule(schedule), costs(costs),
        ends{std::vector<double>(size(), notYet),
             std::vector<double>(size(), notYet),
             std::vector<double>(size(), notYet)},
        next(schedule.getNumRanks()), free(schedule.getNumRanks()),
        isQueued(schedule.getNumRanks()) {}

  Expected<Timeline> run();

private:
  size_t size() const {
    return schedule.getNumStages() * schedule.microBatches;
  }
  double &end(int kind, int64_t stage, int64_t microBatch) {
    return ends[kind][stage * schedule.microBatches + microBatch];
  }
  /// When an action made on `from` is at `to`.
  double arrival(double end, int64_t from, int64_t to) const {
    return schedule.rankOfStage[from] == schedule.rankOfStage[to]
               ? end
               : end + costs[from].transfer;
  }
  double getReadyTime(const Action &action);
  std::optional<Action> getMissing(const Action &action);
  void finish(const Action &action, double time);
  void advance(int32_t rank);
  void enqueue(int32_t rank);
  Error reportWait();
  void measure();
  void measureMemory(int32_t rank);

  const Schedule &schedule;
  const Costs &costs;
  /// Ends of F, of I (or B) and of W (or B).
  std::vector<double> ends[3];
  std::vector<size_t> next;
  std::vector<double> free;
  std::vector<int32_t> queue;
  std::vector<bool> isQueued;
  Timeline timeline;
};

} // namespace

void Engine::enqueue(int32_t rank) {
  if (isQueued[rank])
    return;
  isQueued[rank] = true;
  queue.push_back(rank);
}

/// When all that the action reads has arrived.
double Engine::getReadyTime(const Action &action) {
  int64_t stage = action.stage, i = action.microBatch;
  switch (action.kind) {
  case ActionKind::Forward:
    return stage == 0 ? 0 : arrival(end(0, stage - 1, i), stage - 1, stage);
  case ActionKind::BackwardInput:
  case ActionKind::Backward: {
    double ready = end(0, stage, i);
    if (stage + 1 < schedule.getNumStages())
      ready = std::max(ready, arrival(end(1, stage + 1, i), stage + 1, stage));
    return ready;
  }
  case ActionKind::BackwardWeight:
    return end(1, stage, i);
  case ActionKind::Update: {
    double ready = 0;
    for (int64_t i = 0; i < schedule.microBatches; ++i)
      ready = std::max(ready, end(2, stage, i));
    return ready;
  }
  }
  return 0;
}

/// The first that the action still waits for.
std::optional<Action> Engine::getMissing(const Action &action) {
  int32_t stage = action.stage, i = action.microBatch;
  switch (action.kind) {
  case ActionKind::Forward:
    if (stage > 0 && end(0, stage - 1, i) == notYet)
      return Action{ActionKind::Forward, stage - 1, i};
    break;
  case ActionKind::BackwardInput:
  case ActionKind::Backward:
    if (end(0, stage, i) == notYet)
      return Action{ActionKind::Forward, stage, i};
    if (stage + 1 < schedule.getNumStages() && end(1, stage + 1, i) == notYet)
      return Action{ActionKind::BackwardInput, stage + 1, i};
    break;
  case ActionKind::BackwardWeight:
    if (end(1, stage, i) == notYet)
      return Action{ActionKind::BackwardInput, stage, i};
    break;
  case ActionKind::Update:
    for (int32_t i = 0; i < schedule.microBatches; ++i)
      if (end(2, stage, i) == notYet)
        return Action{ActionKind::BackwardWeight, stage, i};
    break;
  }
  return std::nullopt;
}

void Engine::finish(const Action &action, double time) {
  int64_t stage = action.stage;
  if (action.kind == ActionKind::Forward) {
    end(0, stage, action.microBatch) = time;
    if (stage + 1 < schedule.getNumStages())
      enqueue(schedule.rankOfStage[stage + 1]);
  }
  if (action.givesInputGradient()) {
    end(1, stage, action.microBatch) = time;
    if (stage > 0)
      enqueue(schedule.rankOfStage[stage - 1]);
  }
  if (action.givesWeightGradient())
    end(2, stage, action.microBatch) = time;
}

void Engine::advance(int32_t rank) {
  const ActionList &list = schedule.lists[rank];
  while (next[rank] < list.size()) {
    const Item &item = list[next[rank]];
    double start = std::max(free[rank], getReadyTime(item.action));
    double time = costs[item.action.stage].getTime(item.action.kind);
    if (item.partner) {
      start = std::max(start, getReadyTime(*item.partner));
      time += costs[item.partner->stage].getTime(item.partner->kind);
    }
    if (start == notYet)
      return;
    free[rank] = start + time;
    timeline.items[rank].push_back({start, start + time});
    ++next[rank];
    finish(item.action, start + time);
    if (item.partner)
      finish(*item.partner, start + time);
  }
}

/// Follows the waits from a rank that does not end to a rank met before.
Error Engine::reportWait() {
  // Where an input gradient is made by a B, the lists have that.
  auto find = [&](Action wanted) -> std::optional<Action> {
    Action fused = wanted;
    fused.kind = ActionKind::Backward;
    for (const Item &item : schedule.lists[schedule.rankOfStage[wanted.stage]])
      for (const std::optional<Action> &entry :
           {std::optional<Action>(item.action), item.partner})
        if (entry && (*entry == wanted ||
                      (*entry == fused && wanted.kind != ActionKind::Forward)))
          return entry;
    return std::nullopt;
  };
  int32_t rank = 0;
  while (next[rank] == schedule.lists[rank].size())
    ++rank;
  std::vector<int32_t> path;
  std::vector<std::string> waits;
  while (!llvm::is_contained(path, rank)) {
    path.push_back(rank);
    const Item &item = schedule.lists[rank][next[rank]];
    std::optional<Action> wanted = getMissing(item.action);
    if (!wanted)
      wanted = getMissing(*item.partner);
    std::optional<Action> listed = find(*wanted);
    std::string wait =
        llvm::formatv("rank {0} at {1} for {2}", rank, item.str(),
                      (listed ? *listed : *wanted).str())
            .str();
    if (!listed)
      return fail("{0}, which no rank runs", "waits without end: " + wait);
    waits.push_back(wait);
    rank = schedule.rankOfStage[wanted->stage];
  }
  auto first = llvm::find(path, rank) - path.begin();
  waits.erase(waits.begin(), waits.begin() + first);
  if (waits.size() == 1)
    return fail("waits without end: {0}, which comes later in its own list",
                waits.front());
  return fail("ranks wait for each other: {0}", llvm::join(waits, ", "));
}

void Engine::measureMemory(int32_t rank) {
  int64_t untilWeight = 0, untilInput = 0;
  double memory = 0;
  int64_t &peakWeight = timeline.peakUntilWeightGradient[rank];
  int64_t &peakInput = timeline.peakUntilInputGradient[rank];
  double &peak = timeline.peakMemory[rank];
  auto begin = [&](const Action &action) {
    if (action.kind != ActionKind::Forward)
      return;
    peakWeight = std::max(peakWeight, ++untilWeight);
    peakInput = std::max(peakInput, ++untilInput);
    memory += costs[action.stage].activation;
    peak = std::max(peak, memory);
  };
  auto finish = [&](const Action &action) {
    const StageCosts &cost = costs[action.stage];
    if (action.givesInputGradient()) {
      --untilInput;
      memory += cost.kept - cost.activation;
      // B keeps nothing for a later W.
      if (action.kind == ActionKind::BackwardInput)
        peak = std::max(peak, memory);
    }
    if (action.givesWeightGradient()) {
      --untilWeight;
      memory -= cost.kept;
    }
  };
  for (const Item &item : schedule.lists[rank]) {
    begin(item.action);
    if (item.partner)
      begin(*item.partner);
    finish(item.action);
    if (item.partner)
      finish(*item.partner);
  }
}

void Engine::measure() {
  int32_t ranks = schedule.getNumRanks();
  timeline.span.assign(ranks, 0);
  timeline.busy.assign(ranks, 0);
  timeline.peakUntilWeightGradient.assign(ranks, 0);
  timeline.peakUntilInputGradient.assign(ranks, 0);
  timeline.peakMemory.assign(ranks, 0);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const std::vector<Interval> &items = timeline.items[rank];
    if (items.empty())
      continue;
    for (const Item &item : schedule.lists[rank]) {
      timeline.busy[rank] += costs[item.action.stage].getTime(item.action.kind);
      if (item.partner)
        timeline.busy[rank] +=
            costs[item.partner->stage].getTime(item.partner->kind);
    }
    timeline.span[rank] = items.back().end - items.front().start;
    timeline.makespan = std::max(timeline.makespan, items.back().end);
    measureMemory(rank);
  }
  auto longest = llvm::max_element(timeline.span);
  if (longest != timeline.span.end() && *longest > 0)
    timeline.bubble = std::max(
        0.0,
        (*longest - timeline.busy[longest - timeline.span.begin()]) / *longest);
}

Expected<Timeline> Engine::run() {
  timeline.items.resize(schedule.getNumRanks());
  for (int32_t rank = 0; rank < schedule.getNumRanks(); ++rank) {
    timeline.items[rank].reserve(schedule.lists[rank].size());
    enqueue(rank);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    int32_t rank = queue[i];
    isQueued[rank] = false;
    advance(rank);
    // The queue's front is done with: don't let it grow with the schedule.
    if (i > 4096 && i * 2 > queue.size()) {
      queue.erase(queue.begin(), queue.begin() + i + 1);
      i = static_cast<size_t>(-1);
    }
  }
  for (int32_t rank = 0; rank < schedule.getNumRanks(); ++rank)
    if (next[rank] < schedule.lists[rank].size())
      return reportWait();
  measure();
  return std::move(timeline);
}

double Timeline::getLongestSpan() const {
  auto longest = llvm::max_element(span);
  return longest == span.end() ? 0 : *longest;
}

Expected<Timeline> pipemesh::schedule::simulate(const Schedule &schedule,
                                                const Costs &costs) {
  if (Error error = checkActions(schedule))
    return std::move(error);
  if (Error error = costs.checkStages(schedule.getNumStages()))
    return std::move(error);
  return Engine(schedule, costs).run();
}
