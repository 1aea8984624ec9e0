//===- Schedule.cpp - the actions of each role ----------------------------===//

#include "Program.h"
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
    if (name != "gpipe" && name != "1f1b") {
      getOperation().emitError("unknown schedule '")
          << name << "'; known are gpipe and 1f1b";
      return signalPassFailure();
    }
    FailureOr<Program> program = readProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    for (auto role : program->op.getBody().getOps<pm::RoleOp>()) {
      if (!role.getBody().front().empty()) {
        role.emitError("already has actions; a program is scheduled once");
        return signalPassFailure();
      }
      fill(role, *program);
    }
  }

private:
  void fill(pm::RoleOp role, const Program &program) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(&role.getBody().front());
    auto add = [&](FragmentKind kind, int64_t microBatch) {
      if (program.find(kind, /*stage=*/0))
        pm::ActionOp::create(builder, role.getLoc(),
                             pm::FragmentKindAttr::get(&getContext(), kind),
                             builder.getI64IntegerAttr(0),
                             builder.getI64IntegerAttr(microBatch));
    };
    add(FragmentKind::Prologue, 0);
    for (int64_t i = 0; i < program.microBatches; ++i) {
      add(FragmentKind::Forward, i);
      if (name == "1f1b")
        add(FragmentKind::Backward, i);
    }
    if (name == "gpipe")
      for (int64_t i = 0; i < program.microBatches; ++i)
        add(FragmentKind::Backward, i);
    add(FragmentKind::Update, 0);
  }
};
} // namespace
