//===- Collectives.cpp - evaluation of pm ops between ranks ---------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <cmath>

using namespace mlir;

namespace pipemesh::interp {

/// On global values these say something about their place only.
static LogicalResult identity(LocalCall &call) {
  call.results.push_back(call.operands[0]);
  return success();
}

static LogicalResult axisIndex(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto index = cast<pm::AxisIndexOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  if (!grid.getAxisSize(index.getAxis()))
    return op->emitError("axis '")
           << index.getAxis()
           << "' is not one of the mesh that the program runs on";
  RankTensors result(grid.getNumRanks());
  for (unsigned rank : active)
    result[rank] =
        Tensor::splat(cast<RankedTensorType>(op->getResult(0).getType()),
                      grid.getCoordinate(index.getAxis(), rank,
                                         evaluator.getMicroBatch()));
  evaluator.bindOn(op->getResult(0), result, active);
  return success();
}

template <typename T>
static T joinTwo(pm::ReductionKind kind, T a, T b) {
  switch (kind) {
  case pm::ReductionKind::Sum:
    return a + b;
  case pm::ReductionKind::Max:
    return a < b || b != b ? b : a;
  case pm::ReductionKind::Min:
    return b < a || b != b ? b : a;
  }
  llvm_unreachable("covered");
}

void joinInto(Tensor &sum, const Tensor &part, pm::ReductionKind kind) {
  IntegerFormat format = IntegerFormat::get(sum.getElementType());
  for (int64_t i = 0, e = sum.size(); i < e; ++i) {
    if (sum.isFloat())
      sum.floats()[i] = joinTwo(kind, sum.floats()[i], part.floats()[i]);
    else
      sum.ints()[i] =
          format.wrap(joinTwo(kind, sum.ints()[i], part.ints()[i]));
  }
}

static LogicalResult allReduce(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto reduce = cast<pm::AllReduceOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  SmallVector<StringRef> axes;
  for (auto axis : reduce.getAxes().getAsRange<StringAttr>()) {
    if (!grid.getAxisSize(axis) || grid.isTemporal(axis))
      return op->emitError("axis '")
             << axis.getValue()
             << "' is not a spatial axis of the mesh that the program runs on";
    axes.push_back(axis);
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    const RankTensors parts = evaluator.lookup(op->getOperand(index));
    RankTensors results(grid.getNumRanks());
    for (unsigned rank : active) {
      if (results[rank])
        continue;
      SmallVector<unsigned> group = grid.getGroup(rank, axes);
      for (unsigned member : group)
        if (!llvm::is_contained(active, member))
          return op->emitError("rank ")
                 << rank << " waits here for rank " << member
                 << ", which took another branch";
      Tensor sum = parts[group.front()].clone();
      for (unsigned member : ArrayRef(group).drop_front())
        joinInto(sum, parts[member], reduce.getKind());
      for (unsigned member : group)
        results[member] = sum;
    }
    evaluator.bindOn(op->getResult(index), results, active);
  }
  return success();
}

/// An id outside of the table is an error of the data.
static LogicalResult checkIds(Operation *op, const Tensor &ids, int64_t rows) {
  for (int64_t i = 0, e = ids.size(); i < e; ++i)
    if (ids.asInt(i) < 0 || ids.asInt(i) >= rows)
      return op->emitError("id ")
             << ids.asInt(i) << " is not a row of the table of " << rows
             << " rows";
  return success();
}

static LogicalResult embedding(LocalCall &call) {
  const Tensor &table = call.operands[0], &ids = call.operands[1];
  if (failed(checkIds(call.op, ids, table.getShape()[0])))
    return failure();
  Tensor result(call.getResultType());
  int64_t width = table.getShape()[1];
  for (int64_t i = 0, e = ids.size(); i < e; ++i)
    copyBox({width}, table, {ids.asInt(i) * width, {1}}, result,
            {i * width, {1}});
  call.results.push_back(result);
  return success();
}

void registerPMOps(OpRegistry &registry) {
  registry.addElementwise("pm.constrain", identity);
  registry.addElementwise("pm.reshard", identity);
  registry.addRanked("pm.axis_index", axisIndex);
  registry.addRanked("pm.all_reduce", allReduce);
  registry.addLocal("pm.embedding", embedding);
}

} // namespace pipemesh::interp
