//===- VerifyScheduled.cpp - the verifier of scheduled programs -----------===//

#include "Program.h"
#include "RoleSimulation.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYSCHEDULEDPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
class VerifyScheduled
    : public pipemesh::impl::VerifyScheduledPassBase<VerifyScheduled> {
public:
  void runOnOperation() override {
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    done.clear();
    roleOfStage.clear();
    for (auto role : program->op.getBody().getOps<pm::RoleOp>())
      for (auto action : role.getBody().getOps<pm::ActionOp>())
        if (failed(verify(action, *program)))
          return signalPassFailure();
    for (auto &[fragment, function] : program->fragments) {
      int64_t runs = fragment.isPerMicroBatch() ? program->microBatches : 1;
      for (int64_t i = 0; i < runs; ++i)
        if (!done.contains({fragment, i})) {
          program->op.emitError("no action runs '")
              << function.getSymName() << "' for micro-batch " << i << " of "
              << runs;
          return signalPassFailure();
        }
    }
    if (failed(simulateRoles(*program)))
      signalPassFailure();
  }

private:
  using Run = std::pair<Attribute, int64_t>;

  LogicalResult verify(pm::ActionOp action, const Program &program) {
    auto fragment = [&](FragmentKind kind) {
      return pm::FragmentAttr::get(&getContext(), kind, action.getStage());
    };
    pm::FragmentAttr present = fragment(action.getKind());
    int64_t microBatch = action.getMicroBatch();
    if (!program.fragments.contains(present))
      return action.emitError("runs a fragment that the module does not have");
    auto [role, isNew] = roleOfStage.try_emplace(
        action.getStage(), action->getParentOfType<pm::RoleOp>());
    if (role->second != action->getParentOfType<pm::RoleOp>())
      return action.emitError("runs a fragment of stage ")
             << action.getStage() << ", whose others are run by role "
             << role->second.getPipelineRank();
    int64_t runs = present.isPerMicroBatch() ? program.microBatches : 1;
    if (microBatch < 0 || microBatch >= runs)
      return action.emitError("runs micro-batch ")
             << microBatch << " of " << runs;
    if (!done.insert({present, microBatch}).second)
      return action.emitError("runs a second time");
    // What must have run before this action.
    for (auto kind :
         {FragmentKind::Prologue, FragmentKind::Forward,
          FragmentKind::InputGradient, FragmentKind::WeightGradient,
          FragmentKind::Backward, FragmentKind::Reduce, FragmentKind::Update}) {
      if (kind >= action.getKind() ||
          !program.fragments.contains(fragment(kind)))
        continue;
      bool each =
          !present.isPerMicroBatch() && fragment(kind).isPerMicroBatch();
      int64_t first = each ? 0 : microBatch;
      int64_t last = each ? program.microBatches - 1 : microBatch;
      if (!fragment(kind).isPerMicroBatch())
        first = last = 0;
      for (int64_t i = first; i <= last; ++i)
        if (!done.contains({fragment(kind), i}))
          return action.emitError("runs before the ")
                 << pm::stringifyFragmentKind(kind) << " of micro-batch " << i;
    }
    return success();
  }

  llvm::DenseSet<Run> done;
  llvm::DenseMap<int64_t, pm::RoleOp> roleOfStage;
};
} // namespace
