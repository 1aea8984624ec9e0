//===- Schedule.cpp - the actions of each role ----------------------------===//

#include "Program.h"
#include "Stage.h"
#include "Transfers.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
class Schedule : public pipemesh::impl::SchedulePassBase<Schedule> {
public:
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    std::string schedule = name;
    if (auto given =
            getOperation()->getAttrOfType<StringAttr>(pm::kScheduleAttr);
        given && schedule.empty())
      schedule = given.str();
    if (schedule.empty())
      schedule = "1f1b";
    if (schedule != "gpipe" && schedule != "1f1b") {
      getOperation().emitError("unknown schedule '")
          << schedule << "'; known are gpipe and 1f1b";
      return signalPassFailure();
    }
    for (auto role : program->op.getBody().getOps<pm::RoleOp>()) {
      if (!role.getBody().front().empty()) {
        role.emitError("already has actions; a program is scheduled once");
        return signalPassFailure();
      }
      fill(role, *program, schedule == "gpipe");
    }
    addTransfers(*program);
  }

private:
  /// The actions of role k, which runs stage k.
  void fill(pm::RoleOp role, const Program &program, bool allForwardFirst) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(&role.getBody().front());
    int64_t stage = role.getPipelineRank();
    auto add = [&](FragmentKind kind, int64_t microBatch) {
      if (program.find(kind, stage))
        pm::ActionOp::create(builder, role.getLoc(),
                             pm::FragmentKindAttr::get(&getContext(), kind),
                             builder.getI64IntegerAttr(stage),
                             builder.getI64IntegerAttr(microBatch));
    };
    // While the first micro-batch is on its way to the last stage and back,
    // this stage starts one for each stage behind it (Narayanan et al. 2021,
    // section 2.2.1).
    int64_t count = program.microBatches;
    int64_t warmUp = getNumStages(program.mesh) - 1 - stage;
    warmUp = allForwardFirst ? count : std::clamp<int64_t>(warmUp, 0, count);
    add(FragmentKind::Prologue, 0);
    for (int64_t i = 0; i < warmUp; ++i)
      add(FragmentKind::Forward, i);
    for (int64_t i = 0; i < count; ++i) {
      if (warmUp + i < count)
        add(FragmentKind::Forward, warmUp + i);
      add(FragmentKind::Backward, i);
    }
    add(FragmentKind::Reduce, 0);
    add(FragmentKind::Update, 0);
  }
};
} // namespace
