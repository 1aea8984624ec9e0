//===- Schedule.cpp - the actions of each role ----------------------------===//

#include "Program.h"
#include "Stage.h"
#include "Transfers.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Schedule/ActionLists.h"
#include "pipemesh/Schedule/Generate.h"
#include "llvm/ADT/StringExtras.h"

namespace pipemesh {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

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
    FailureOr<schedule::Schedule> made = findLists(*program);
    if (failed(made))
      return signalPassFailure();
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
  /// The module's lists, or those of the schedule that the option or the module
  /// names.
  FailureOr<schedule::Schedule> findLists(const Program &program) {
    ModuleOp module = getOperation();
    SmallVector<int64_t> rankOfStage = getRankOfStage(module, program.mesh);
    std::string scheduleName = name;
    auto named = module->getAttrOfType<StringAttr>(pm::kScheduleAttr);
    if (named && scheduleName.empty())
      scheduleName = named.str();
    if (scheduleName.empty())
      scheduleName = "1f1b";
    bool isTheModules = name.empty() || (named && named == scheduleName);
    auto rows = module->getAttrOfType<ArrayAttr>(schedule::kActionsAttr);
    llvm::Expected<schedule::Schedule> made =
        rows && isTheModules ? read(rows) : generate(program, scheduleName);
    if (!made)
      return LogicalResult(module.emitError(toString(made.takeError())));
    if (made->getNumRanks() != getNumPipelineRanks(program.mesh) ||
        made->microBatches != program.microBatches)
      return LogicalResult(module.emitError("'pm.actions' are lists of ")
                           << made->getNumRanks() << " ranks and "
                           << made->microBatches
                           << " micro-batches, but the mesh has "
                           << getNumPipelineRanks(program.mesh) << " and "
                           << program.microBatches);
    bool hasParts = llvm::any_of(made->lists, [](const auto &list) {
      return llvm::any_of(list, [](const schedule::Item &item) {
        return item.action.kind == schedule::ActionKind::BackwardInput ||
               (item.partner &&
                item.partner->kind == schedule::ActionKind::BackwardInput);
      });
    });
    for (auto &[fragment, function] : program.fragments)
      if (hasParts && fragment.getKind() == FragmentKind::Backward)
        return LogicalResult(
            func::FuncOp(function).emitError("is a whole backward, but ")
            << scheduleName
            << " runs the gradients of inputs and of weights apart; give the "
               "schedule in the strategy, so that pm-split-stages knows it");
    if (!llvm::equal(made->rankOfStage, rankOfStage))
      return LogicalResult(
          module.emitError("the module's stages lie on other ranks than ")
          << scheduleName
          << " has them; give the schedule in the strategy, so that "
             "pm-assign-stages knows it");
    return std::move(*made);
  }

  static llvm::Expected<schedule::Schedule> read(ArrayAttr rows) {
    std::vector<std::string> remarks;
    llvm::Expected<schedule::Schedule> lists = schedule::parseActionLists(
        llvm::join(rows.getAsValueRange<StringAttr>(), "\n"), remarks);
    if (!lists)
      return llvm::createStringError("'pm.actions': " +
                                     toString(lists.takeError()));
    return lists;
  }

  llvm::Expected<schedule::Schedule> generate(const Program &program,
                                              StringRef scheduleName) {
    if (!schedule::isScheduleName(scheduleName))
      return llvm::createStringError(
          "unknown schedule '" + scheduleName.str() + "'; known are " +
          llvm::join(schedule::getScheduleNames(), ", "));
    if (scheduleName == "zb-auto")
      return llvm::createStringError(
          "zb-auto is fitted to the costs of stages; give the schedule in the "
          "strategy, so that pm-assign-stages finds its lists");
    schedule::Request request;
    request.name = scheduleName.str();
    request.ranks = getNumPipelineRanks(program.mesh);
    request.chunks =
        getRankOfStage(getOperation(), program.mesh).size() / request.ranks;
    request.microBatches = program.microBatches;
    return schedule::generate(request);
  }

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
