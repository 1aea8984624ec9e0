//===- Schedule.cpp - the actions of each role ----------------------------===//

#include "Program.h"
#include "Stage.h"
#include "Transfers.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Schedule/Generate.h"
#include "llvm/ADT/StringExtras.h"

namespace pipemesh {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

/// Its costs are not known here.
static constexpr llvm::StringLiteral fitted = "zb-auto";

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
    if (!schedule::isScheduleName(scheduleName) || scheduleName == fitted) {
      SmallVector<StringRef> known;
      for (StringRef other : schedule::getScheduleNames())
        if (other != fitted)
          known.push_back(other);
      getOperation().emitError("unknown schedule '")
          << scheduleName << "'; known are " << llvm::join(known, ", ");
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
    SmallVector<int64_t> rankOfStage =
        getRankOfStage(getOperation(), program->mesh);
    request.ranks = getNumPipelineRanks(program->mesh);
    request.chunks = rankOfStage.size() / request.ranks;
    request.microBatches = program->microBatches;
    llvm::Expected<schedule::Schedule> made = schedule::generate(request);
    if (!made) {
      getOperation().emitError(toString(made.takeError()));
      return signalPassFailure();
    }
    if (!llvm::equal(made->rankOfStage, rankOfStage)) {
      getOperation().emitError("the module's stages lie on other ranks than ")
          << scheduleName
          << " has them; give the schedule in the strategy, so that "
             "pm-assign-stages knows it";
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
    auto addAction = [&](const schedule::Action &action) {
      for (FragmentKind kind : getFragments(action.kind))
        add(kind, action.stage, action.microBatch);
    };
    // One thread runs a rank: of a pair the forward first.
    for (const schedule::Item &item : made.lists[rank]) {
      addAction(item.action);
      if (item.partner)
        addAction(*item.partner);
    }
    for (int64_t stage : made.getStagesOf(rank))
      add(FragmentKind::Reduce, stage, 0);
    for (int64_t stage : made.getStagesOf(rank))
      add(FragmentKind::Update, stage, 0);
  }
};
} // namespace
