//===- SplitStages.cpp - fragments that exchange buffers ------------------===//

#include "Splitter.h"
#include "Stage.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Pipeline/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "pipemesh/Pipeline/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class SplitStages : public pipemesh::impl::SplitStagesPassBase<SplitStages> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    pm::MeshOp mesh = pm::lookupMesh(module);
    if (!mesh) {
      module.emitError(
          "the module has no mesh; run pm-apply-strategy, or add a pm.mesh");
      return signalPassFailure();
    }
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1) {
      module.emitError("a step is one function, but the module has ")
          << functions.size();
      return signalPassFailure();
    }
    if (!functions[0].getBody().hasOneBlock()) {
      functions[0].emitError("a step is one block, but this has ")
          << functions[0].getBody().getBlocks().size();
      return signalPassFailure();
    }
    SmallVector<int64_t> rankOfStage = getRankOfStage(module, mesh);
    if (failed(check(functions[0], rankOfStage.size())))
      return signalPassFailure();
    Splitter splitter(functions[0], mesh, std::move(rankOfStage),
                      {splitsBackward(module), recomputes(module)});
    if (failed(splitter.run()))
      return signalPassFailure();
    buildFragments(splitter, mesh);
  }

private:
  static LogicalResult check(func::FuncOp function, int64_t numStages) {
    for (BlockArgument arg : function.getArguments())
      if (!pm::getSharding(arg))
        return function.emitError("argument ")
               << arg.getArgNumber() << " has no sharding; run pm-propagate";
    for (Operation &op : function.getBody().front().without_terminator()) {
      auto stage = op.getAttrOfType<IntegerAttr>(kStageAttr);
      bool needsStage = numStages == 1 || !isInPhase(&op, "update");
      if (!stage && needsStage)
        return op.emitError("has no stage; run pm-assign-stages");
      if (stage && (stage.getInt() < 0 || stage.getInt() >= numStages))
        return op.emitError("is on stage ")
               << stage.getInt() << ", but the mesh has " << numStages
               << (numStages == 1 ? " stage" : " stages");
      for (Value result : op.getResults())
        if (!pm::getSharding(result))
          return op.emitError("has no sharding; run pm-propagate");
    }
    return success();
  }
};
} // namespace
