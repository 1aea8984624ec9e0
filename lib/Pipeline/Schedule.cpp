//===- Schedule.cpp - the actions of each role ----------------------------===//

#include "Program.h"
#include "Stage.h"
#include "Transfers.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Schedule/Generate.h"

namespace pipemesh {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

/// The schedules that have one stage a rank.
static constexpr llvm::StringLiteral compiled[] = {"gpipe", "1f1b", "zb-h1",
                                                   "zb-h2"};

/// The fragments that an action runs, of those that a program has.
static ArrayRef<FragmentKind> getFragments(schedule::ActionKind kind) {
  static constexpr FragmentKind forward[] = {FragmentKind::Forward};
  static constexpr FragmentKind input[] = {FragmentKind::InputGradient};
  static constexpr FragmentKind weight[] = {FragmentKind::WeightGradient};
  // A backward that was cut in two runs as both.
  static constexpr FragmentKind whole[] = {FragmentKind::InputGradient,
                                           FragmentKind::WeightGradient,
                                           FragmentKind::Backward};
  switch (kind) {
  case schedule::ActionKind::Forward:
    return forward;
  case schedule::ActionKind::BackwardInput:
    return input;
  case schedule::ActionKind::BackwardWeight:
    return weight;
  case schedule::ActionKind::Backward:
    return whole;
  case schedule::ActionKind::Update:
    break;
  }
  return {};
}

namespace {
class Schedule : public pipemesh::impl::SchedulePassBase<Schedule> {
public:
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    std::string scheduleName = name;
    if (auto given =
            getOperation()->getAttrOfType<StringAttr>(pm::kScheduleAttr);
        given && scheduleName.empty())
      scheduleName = given.str();
    if (scheduleName.empty())
      scheduleName = "1f1b";
    if (!llvm::is_contained(compiled, scheduleName)) {
      getOperation().emitError("unknown schedule '")
          << scheduleName << "'; known are gpipe, 1f1b, zb-h1 and zb-h2";
      return signalPassFailure();
    }
    for (auto &[fragment, function] : program->fragments)
      if (schedule::splitsBackward(scheduleName) &&
          fragment.getKind() == FragmentKind::Backward) {
        function.emitError("is a whole backward, but ")
            << scheduleName
            << " runs the gradients of inputs and of weights apart; give the "
               "schedule in the strategy, so that pm-split-stages knows it";
        return signalPassFailure();
      }
    schedule::Request request;
    request.name = scheduleName;
    request.ranks = getNumStages(program->mesh);
    request.microBatches = program->microBatches;
    llvm::Expected<schedule::Schedule> made = schedule::generate(request);
    if (!made) {
      getOperation().emitError(toString(made.takeError()));
      return signalPassFailure();
    }
    for (auto role : program->op.getBody().getOps<pm::RoleOp>()) {
      if (!role.getBody().front().empty()) {
        role.emitError("already has actions; a program is scheduled once");
        return signalPassFailure();
      }
      fill(role, *program, *made);
    }
    addTransfers(*program);
  }

private:
  /// The actions of role k: its list of the schedule between what runs once.
  void fill(pm::RoleOp role, const Program &program,
            const schedule::Schedule &made) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(&role.getBody().front());
    auto add = [&](FragmentKind kind, int64_t stage, int64_t microBatch) {
      if (program.find(kind, stage))
        pm::ActionOp::create(builder, role.getLoc(),
                             pm::FragmentKindAttr::get(&getContext(), kind),
                             builder.getI64IntegerAttr(stage),
                             builder.getI64IntegerAttr(microBatch));
    };
    int64_t rank = role.getPipelineRank();
    for (int64_t stage : made.getStagesOf(rank))
      add(FragmentKind::Prologue, stage, 0);
    for (const schedule::Item &item : made.lists[rank])
      for (FragmentKind kind : getFragments(item.action.kind))
        add(kind, item.action.stage, item.action.microBatch);
    for (int64_t stage : made.getStagesOf(rank))
      add(FragmentKind::Reduce, stage, 0);
    for (int64_t stage : made.getStagesOf(rank))
      add(FragmentKind::Update, stage, 0);
  }
};
} // namespace
