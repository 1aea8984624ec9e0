//===- AssignStages.cpp - a pipeline stage for every op -------------------===//

#include "Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
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
    for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
      if (axis.getKind() == pm::AxisKind::Stage && axis.getSize() > 1) {
        mesh.emitError("the stage axis '")
            << axis.getName().getValue() << "' has size " << axis.getSize()
            << ", but this version assigns one stage only; leave the axis out";
        return signalPassFailure();
      }
    auto zero = IntegerAttr::get(IntegerType::get(&getContext(), 64), 0);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        for (Operation &op : block.without_terminator()) {
          auto given = op.getAttrOfType<IntegerAttr>(kStageAttr);
          if (given && given.getInt() != 0) {
            op.emitError("is on stage ")
                << given.getInt() << ", but the mesh has one stage, 0";
            return signalPassFailure();
          }
          op.setAttr(kStageAttr, zero);
        }
  }
};
} // namespace
