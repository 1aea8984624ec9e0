//===- Schedule.cpp - actions and lists -----------------------------------===//

#include "pipemesh/Schedule/Schedule.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/ADT/STLExtras.h"

using namespace pipemesh::schedule;
using llvm::Expected;

char pipemesh::schedule::getLetter(ActionKind kind) {
  return "FIWBU"[static_cast<int>(kind)];
}

std::string Action::str() const {
  std::string text = std::to_string(stage) + getLetter(kind);
  if (kind != ActionKind::Update)
    text += std::to_string(microBatch);
  return text;
}

std::string Item::str() const {
  if (!partner)
    return action.str();
  return "(" + action.str() + ";" + partner->str() + ")OVERLAP_F_B";
}

std::vector<int32_t> pipemesh::schedule::placeStages(Placement placement,
                                                     int64_t ranks,
                                                     int64_t chunks) {
  std::vector<int32_t> rankOfStage;
  rankOfStage.reserve(ranks * chunks);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t i = 0; i < ranks; ++i)
      rankOfStage.push_back(
          placement == Placement::V && chunk % 2 ? ranks - 1 - i : i);
  return rankOfStage;
}

std::vector<int64_t> Schedule::getStagesOf(int64_t rank) const {
  std::vector<int64_t> stages;
  for (auto [stage, owner] : llvm::enumerate(rankOfStage))
    if (owner == rank)
      stages.push_back(stage);
  return stages;
}

int64_t Schedule::getNumItems() const {
  int64_t count = 0;
  for (const ActionList &list : lists)
    count += list.size();
  return count;
}

void pipemesh::schedule::addUpdates(Schedule &schedule) {
  for (int64_t rank = 0; rank < schedule.getNumRanks(); ++rank)
    for (int64_t stage : schedule.getStagesOf(rank))
      schedule.lists[rank].push_back(
          Action{ActionKind::Update, static_cast<int32_t>(stage), 0});
}

Expected<std::vector<Place>>
pipemesh::schedule::getTotalOrder(const Schedule &schedule) {
  StageCosts unit;
  unit.update = 1;
  Expected<Timeline> timeline = simulate(schedule, Costs(unit));
  if (!timeline)
    return timeline.takeError();
  std::vector<Place> order;
  order.reserve(schedule.getNumItems());
  for (int32_t rank = 0; rank < schedule.getNumRanks(); ++rank)
    for (size_t i = 0; i < schedule.lists[rank].size(); ++i)
      order.push_back({rank, static_cast<int32_t>(i)});
  llvm::sort(order, [&](const Place &a, const Place &b) {
    double startA = timeline->items[a.rank][a.index].start;
    double startB = timeline->items[b.rank][b.index].start;
    return std::tie(startA, a.rank, a.index) <
           std::tie(startB, b.rank, b.index);
  });
  return order;
}

Expected<std::vector<Dependency>>
pipemesh::schedule::getTransfers(const Schedule &schedule) {
  Expected<std::vector<Place>> order = getTotalOrder(schedule);
  if (!order)
    return order.takeError();
  int64_t microBatches = schedule.microBatches;
  // Whether the stage's input gradient of the micro-batch is made by a B.
  std::vector<bool> isFused(schedule.getNumStages() * microBatches);
  auto forEachAction = [](const Item &item, auto visit) {
    visit(item.action);
    if (item.partner)
      visit(*item.partner);
  };
  for (const ActionList &list : schedule.lists)
    for (const Item &item : list)
      forEachAction(item, [&](const Action &action) {
        if (action.kind == ActionKind::Backward)
          isFused[action.stage * microBatches + action.microBatch] = true;
      });
  std::vector<Dependency> transfers;
  for (Place place : *order)
    forEachAction(
        schedule.lists[place.rank][place.index], [&](const Action &action) {
          Action consumer = action;
          if (action.kind == ActionKind::Forward) {
            ++consumer.stage;
          } else if (action.givesInputGradient() && action.stage > 0) {
            --consumer.stage;
            consumer.kind =
                isFused[consumer.stage * microBatches + action.microBatch]
                    ? ActionKind::Backward
                    : ActionKind::BackwardInput;
          } else {
            return;
          }
          if (consumer.stage < schedule.getNumStages() &&
              schedule.rankOfStage[consumer.stage] != place.rank)
            transfers.push_back({action, consumer});
        });
  return transfers;
}
