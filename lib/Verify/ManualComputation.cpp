//===- ManualComputation.cpp - evaluation of pm.manual_computation --------===//
//
// On global values, the body is run on all ranks of the mesh, each of which gets
// its piece of the operands; the results are put together again.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Layout.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pipemesh::interp {

/// The cut of a value that the body sees: that over the manual axes.
static pm::ShardingAttr getManualCut(pm::ManualComputationOp op,
                                     Attribute attr) {
  auto sharding = cast<pm::ShardingAttr>(attr);
  SmallVector<pm::DimShardingAttr> dims;
  for (pm::DimShardingAttr dim : sharding.getDims()) {
    SmallVector<StringAttr> axes;
    for (StringAttr axis : dim.getAxes())
      if (llvm::is_contained(op.getManualAxes(), axis))
        axes.push_back(axis);
    dims.push_back(
        pm::DimShardingAttr::get(op.getContext(), axes, false, 0, 0));
  }
  return pm::ShardingAttr::get(op.getContext(), sharding.getMesh(), dims);
}

/// Runs the body on ranks that hold the whole operands, and binds whole results.
static LogicalResult runBody(Evaluator &evaluator, pm::ManualComputationOp op,
                             ArrayRef<RankTensors> operands,
                             ArrayRef<unsigned> active,
                             SmallVectorImpl<RankTensors> &wholes) {
  const RankGrid &grid = evaluator.getGrid();
  SmallVector<StringRef> axes;
  for (auto axis : op.getManualAxes().getAsRange<StringAttr>()) {
    if (!grid.getAxisSize(axis) || grid.isTemporal(axis))
      return op.emitError("axis '")
             << axis.getValue()
             << "' is not a spatial axis of the mesh that the program runs on";
    axes.push_back(axis);
  }
  Block &body = op.getBody().front();
  SmallVector<RankTensors> arguments;
  for (auto [argument, attr, operand] :
       llvm::zip(body.getArguments(), op.getInShardings(), operands)) {
    Layout layout(getManualCut(op, attr), grid);
    auto type = cast<RankedTensorType>(argument.getType());
    RankTensors &pieces = arguments.emplace_back(grid.getNumRanks());
    for (unsigned rank : active)
      pieces[rank] =
          layout.take(operand[rank], type, rank, 0, /*isState=*/false);
  }
  SmallVector<RankTensors> results;
  if (failed(evaluator.run(op.getBody(), arguments, active, results)))
    return failure();
  for (auto [result, attr, pieces] :
       llvm::zip(op.getResults(), op.getOutShardings(), results)) {
    Layout layout(getManualCut(op, attr), grid);
    auto type = cast<RankedTensorType>(result.getType());
    RankTensors &whole = wholes.emplace_back(grid.getNumRanks());
    for (unsigned rank : active) {
      // The pieces of this rank's group, and nothing of other ranks.
      SmallVector<SmallVector<Tensor>> list(grid.getNumRanks());
      for (unsigned member : grid.getGroup(rank, axes)) {
        if (!pieces[member])
          return op.emitError("rank ")
                 << rank << " waits here for rank " << member
                 << ", which took another branch";
        list[member] = {pieces[member]};
      }
      auto joined =
          layout.assemble(list, type, /*isJoined=*/true,
                          [&] { return op.emitError("a result "); });
      if (failed(joined))
        return failure();
      whole[rank] = *joined;
    }
  }
  return success();
}

static LogicalResult runManual(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto manual = cast<pm::ManualComputationOp>(op);
  SmallVector<RankTensors> operands, wholes;
  for (Value operand : op->getOperands())
    operands.push_back(evaluator.lookup(operand));
  pm::MeshOp mesh = pm::lookupMesh(op);
  if (evaluator.getGrid().getNumRanks() > 1 || !mesh) {
    if (failed(runBody(evaluator, manual, operands, active, wholes)))
      return failure();
    for (auto [result, whole] : llvm::zip(op->getResults(), wholes))
      evaluator.bindOn(result, whole, active);
    return success();
  }
  RankGrid grid = makeGrid(mesh, /*temporal=*/false);
  Evaluator ranks(grid);
  auto spread = [&](const RankTensors &tensors) {
    return RankTensors(grid.getNumRanks(), tensors[0]);
  };
  for (RankTensors &operand : operands)
    operand = spread(operand);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    ranks.bind(value, spread(evaluator.lookup(value)));
  SmallVector<unsigned> all(llvm::to_vector(llvm::seq(grid.getNumRanks())));
  if (failed(runBody(ranks, manual, operands, all, wholes)))
    return failure();
  for (auto [result, whole] : llvm::zip(op->getResults(), wholes))
    evaluator.bindOn(result, {whole[0]}, active);
  return success();
}

void registerManualOps(OpRegistry &registry) {
  registry.addRanked("pm.manual_computation", runManual);
}

} // namespace pipemesh::interp
