//===- AssignStages.cpp - a pipeline stage for every op -------------------===//

#include "Stage.h"
#include "StageAssignment.h"
#include "StageBalance.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Schedule/Balance.h"
#include "llvm/ADT/StringExtras.h"

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
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      StageBalance balance(getOperation(), function, mesh);
      FailureOr<SmallVector<int64_t>> layers = SmallVector<int64_t>();
      if (failed(checkGiven(function, numStages)))
        return signalPassFailure();
      if (numStages > 1)
        layers = findLayers(function, balance);
      if (failed(layers) ||
          failed(numStages == 1 ? assignOne(function)
                                : assign(function, numStages, *layers)) ||
          failed(fitLists(function, balance, *layers)))
        return signalPassFailure();
    }
  }

private:
  DenseI64ArrayAttr getGivenLayers() {
    return getOperation()->getAttrOfType<DenseI64ArrayAttr>(
        schedule::kStageLayersAttr);
  }

  /// The layers that the strategy gives the stages are those of the model.
  LogicalResult checkGiven(func::FuncOp function, int64_t numStages) {
    DenseI64ArrayAttr given = getGivenLayers();
    if (!given || function.isExternal())
      return success();
    int64_t layers = countLayers(function), sum = 0;
    for (int64_t count : given.asArrayRef())
      sum += count;
    if (given.size() != numStages ||
        llvm::any_of(given.asArrayRef(),
                     [](int64_t count) { return count < 1; }))
      return function.emitError(
                 "'pm.stage_layers' must have a number from 1 on "
                 "for each of ")
             << numStages << " stages, but is " << given;
    if (sum == layers)
      return success();
    InFlightDiagnostic diagnostic =
        function.emitError("has ")
        << layers << (layers == 1 ? " layer" : " layers") << ", but stages="
        << llvm::join(llvm::map_range(
                          given.asArrayRef(),
                          [](int64_t count) { return std::to_string(count); }),
                      ":")
        << " divides " << sum;
    std::vector<int64_t> equal = schedule::divideEqually(layers, numStages);
    if (layers >= numStages)
      diagnostic << "; stages="
                 << llvm::join(llvm::map_range(equal,
                                               [](int64_t count) {
                                                 return std::to_string(count);
                                               }),
                               ":")
                 << " is an equal division, and without 'stages' the layers "
                    "are balanced";
    return diagnostic;
  }

  /// Given ones, or those that make the step shortest; empty for equal ones.
  FailureOr<SmallVector<int64_t>> findLayers(func::FuncOp function,
                                             StageBalance &balance) {
    if (DenseI64ArrayAttr given = getGivenLayers())
      return SmallVector<int64_t>(given.asArrayRef());
    if (!canBeCut(function) || hasGivenStage(function))
      return SmallVector<int64_t>();
    return balance.findLayers();
  }

  LogicalResult fitLists(func::FuncOp function, StageBalance &balance,
                         ArrayRef<int64_t> layers) {
    return canBeCut(function) ? balance.fitLists(layers) : success();
  }

  static bool canBeCut(func::FuncOp function) {
    return !function.isExternal() && function.getBody().hasOneBlock() &&
           llvm::all_of(
               function.getArguments(),
               [](Value arg) { return pm::getSharding(arg) != nullptr; }) &&
           llvm::all_of(function.getBody().front().without_terminator(),
                        [](Operation &op) {
                          return llvm::all_of(
                              op.getResults(), [](Value result) {
                                return pm::getSharding(result) != nullptr;
                              });
                        });
  }

  static bool hasGivenStage(func::FuncOp function) {
    return llvm::any_of(function.getBody().front(),
                        [](Operation &op) { return op.hasAttr(kStageAttr); });
  }

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

  LogicalResult assign(func::FuncOp function, int64_t numStages,
                       ArrayRef<int64_t> layers) {
    if (function.isExternal())
      return success();
    if (!function.getBody().hasOneBlock())
      return function.emitError("a step is one block, but this has ")
             << function.getBody().getBlocks().size();
    StageAssignment assignment(function, numStages, layers);
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
