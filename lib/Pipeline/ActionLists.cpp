//===- ActionLists.cpp - the lists of a scheduled program -----------------===//

#include "pipemesh/Pipeline/ActionLists.h"
#include "Program.h"
#include "Stage.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

FailureOr<schedule::Schedule> pipemesh::getActionLists(ModuleOp module) {
  FailureOr<Program> program = readProgram(module);
  if (failed(program))
    return failure();
  schedule::Schedule made;
  auto name = module->getAttrOfType<StringAttr>(pm::kScheduleAttr);
  made.name = name ? name.str() : "1f1b";
  made.microBatches = program->microBatches;
  for (int64_t rank : getRankOfStage(module, program->mesh))
    made.rankOfStage.push_back(static_cast<int32_t>(rank));
  made.lists.resize(getNumPipelineRanks(program->mesh));
  auto has = [&](FragmentKind kind, int64_t stage) {
    return program->find(kind, stage) != nullptr;
  };
  for (auto role : program->op.getBody().getOps<pm::RoleOp>()) {
    int64_t rank = role.getPipelineRank();
    schedule::ActionList &list = made.lists[rank];
    bool hasBackward = false, hasUpdate = false;
    for (auto action : role.getBody().getOps<pm::ActionOp>()) {
      int64_t stage = action.getStage();
      auto add = [&](schedule::ActionKind kind) {
        hasBackward |= kind != schedule::ActionKind::Forward && stage == rank;
        list.push_back(
            schedule::Action{kind, static_cast<int32_t>(stage),
                             static_cast<int32_t>(action.getMicroBatch())});
      };
      switch (action.getKind()) {
      case FragmentKind::Forward:
        add(schedule::ActionKind::Forward);
        break;
      case FragmentKind::InputGradient:
        add(has(FragmentKind::WeightGradient, stage)
                ? schedule::ActionKind::BackwardInput
                : schedule::ActionKind::Backward);
        break;
      case FragmentKind::WeightGradient:
        add(has(FragmentKind::InputGradient, stage)
                ? schedule::ActionKind::BackwardWeight
                : schedule::ActionKind::Backward);
        break;
      case FragmentKind::Backward:
        add(schedule::ActionKind::Backward);
        break;
      case FragmentKind::Reduce:
      case FragmentKind::Update:
        hasUpdate = true;
        break;
      case FragmentKind::Prologue:
        break;
      }
    }
    if (hasUpdate && hasBackward)
      list.push_back(schedule::Action{schedule::ActionKind::Update,
                                      static_cast<int32_t>(rank), 0});
  }
  return std::move(made);
}
