//===- Validate.cpp - is it a schedule? -----------------------------------===//

#include "Check.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/Support/FormatVariadic.h"

using namespace pipemesh::schedule;
using llvm::Error;

Error pipemesh::schedule::checkActions(const Schedule &schedule) {
  int64_t stages = schedule.getNumStages();
  int64_t microBatches = schedule.microBatches;
  // A bit for each kind.
  std::vector<uint8_t> seen(stages * microBatches);
  std::vector<bool> updated(stages);
  for (int32_t rank = 0; rank < schedule.getNumRanks(); ++rank)
    for (const Item &item : schedule.lists[rank]) {
      for (const std::optional<Action> &entry :
           {std::optional<Action>(item.action), item.partner}) {
        if (!entry)
          continue;
        const Action &action = *entry;
        if (action.stage < 0 || action.stage >= stages)
          return fail("rank {0} runs {1}, but there are {2} stages", rank,
                      action.str(), stages);
        if (schedule.rankOfStage[action.stage] != rank)
          return fail("rank {0} runs {1}, but stage {2} is placed on rank {3}",
                      rank, action.str(), action.stage,
                      schedule.rankOfStage[action.stage]);
        bool isTwice = false;
        if (action.kind == ActionKind::Update) {
          isTwice = updated[action.stage];
          updated[action.stage] = true;
        } else if (action.microBatch < 0 || action.microBatch >= microBatches) {
          return fail("rank {0} runs {1}, but there are {2} micro-batches",
                      rank, action.str(), microBatches);
        } else {
          uint8_t &bits = seen[action.stage * microBatches + action.microBatch];
          uint8_t bit = 1 << static_cast<int>(action.kind);
          isTwice = bits & bit;
          bits |= bit;
        }
        if (isTwice)
          return fail("{0} is in the list of rank {1} twice", action.str(),
                      rank);
      }
      if (item.partner && item.action.stage == item.partner->stage &&
          item.action.microBatch == item.partner->microBatch)
        return fail("rank {0} overlaps {1} with {2}, which needs it", rank,
                    item.action.str(), item.partner->str());
    }
  return Error::success();
}

/// Every stage does all of its work.
static Error checkComplete(const Schedule &schedule) {
  int64_t microBatches = schedule.microBatches;
  std::vector<uint8_t> seen(schedule.getNumStages() * microBatches);
  auto mark = [&](const Action &action) {
    if (action.kind != ActionKind::Update)
      seen[action.stage * microBatches + action.microBatch] |=
          1 << static_cast<int>(action.kind);
  };
  for (const ActionList &list : schedule.lists)
    for (const Item &item : list) {
      mark(item.action);
      if (item.partner)
        mark(*item.partner);
    }
  auto has = [](uint8_t bits, ActionKind kind) {
    return bits >> static_cast<int>(kind) & 1;
  };
  for (int32_t stage = 0; stage < schedule.getNumStages(); ++stage)
    for (int32_t i = 0; i < microBatches; ++i) {
      uint8_t bits = seen[stage * microBatches + i];
      auto lacks = [&](ActionKind kind) {
        return fail("no rank runs {0}", Action{kind, stage, i}.str());
      };
      if (!has(bits, ActionKind::Forward))
        return lacks(ActionKind::Forward);
      bool input = has(bits, ActionKind::BackwardInput);
      bool weight = has(bits, ActionKind::BackwardWeight);
      if (has(bits, ActionKind::Backward)) {
        if (input || weight)
          return fail("stage {0} has its backward of micro-batch {1} both as B "
                      "and as I or W",
                      stage, i);
        continue;
      }
      if (!input && !weight)
        return fail("no rank runs the backward of stage {0} and micro-batch "
                    "{1}: {0}B{1}, or {0}I{1} and {0}W{1}",
                    stage, i);
      if (!input)
        return lacks(ActionKind::BackwardInput);
      if (!weight)
        return lacks(ActionKind::BackwardWeight);
    }
  return Error::success();
}

Error pipemesh::schedule::validate(const Schedule &schedule) {
  if (Error error = checkActions(schedule))
    return error;
  if (Error error = checkComplete(schedule))
    return error;
  return simulate(schedule).takeError();
}
