//===- AssignStages.cpp - a pipeline stage for every op -------------------===//

#include "Stage.h"
#include "StageAssignment.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class AssignStages : public pipemesh::impl::AssignStagesPassBase<AssignStages> {
public:
  void runOnOperation() override {
    pm::MeshOp mesh = pm::lookupMesh(getOperation());
    if (!mesh) {
      getOperation().emitError(
          "the module has no mesh; run pm-apply-strategy, or add a pm.mesh");
      return signalPassFailure();
    }
    int64_t numStages = getRankOfStage(getOperation(), mesh).size();
    bool isTimed = llvm::any_of(
        mesh.getAxes().getAsRange<pm::MeshAxisAttr>(),
        [](auto axis) { return axis.getKind() == pm::AxisKind::Temporal; });
    if (numStages > 1 && !isTimed) {
      mesh.emitError("has ")
          << numStages
          << " pipeline stages, but no temporal axis for their micro-batches; "
             "add one, of size 1 at least";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(numStages == 1 ? assignOne(function)
                                : assign(function, numStages)))
        return signalPassFailure();
  }

private:
  LogicalResult assignOne(func::FuncOp function) {
    for (Block &block : function.getBody())
      for (Operation &op : block.without_terminator()) {
        auto given = op.getAttrOfType<IntegerAttr>(kStageAttr);
        if (given && given.getInt() != 0)
          return op.emitError("is on stage ")
                 << given.getInt() << ", but the mesh has one stage, 0";
        setStage(&op, 0);
      }
    return success();
  }

  LogicalResult assign(func::FuncOp function, int64_t numStages) {
    if (function.isExternal())
      return success();
    if (!function.getBody().hasOneBlock())
      return function.emitError("a step is one block, but this has ")
             << function.getBody().getBlocks().size();
    StageAssignment assignment(function, numStages);
    if (failed(assignment.run()))
      return failure();
    for (Operation &op : function.getBody().front().without_terminator())
      if (auto stage = assignment.lookup(&op))
        setStage(&op, *stage);
    return success();
  }

  void setStage(Operation *op, int64_t stage) {
    op->setAttr(kStageAttr,
                IntegerAttr::get(IntegerType::get(&getContext(), 64), stage));
  }
};
} // namespace
