//===- VerifySharded.cpp - the verifier of the sharded level --------------===//

#include "VerifyOpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYSHARDEDPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class VerifySharded
    : public pipemesh::impl::VerifyShardedPassBase<VerifySharded> {
public:
  void runOnOperation() override {
    pm::MeshOp mesh = pm::lookupMesh(getOperation());
    if (!mesh) {
      getOperation().emitError("a sharded graph has a pm.mesh");
      return signalPassFailure();
    }
    auto places = pm::placeMesh(mesh);
    if (!places) {
      mesh.emitError(llvm::toString(places.takeError()));
      return signalPassFailure();
    }
    MeshAxes axes(mesh);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      shardings.clear();
      if (!function.isExternal() && failed(verify(function, axes)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult verify(func::FuncOp function, const MeshAxes &mesh);
  /// The ops of a block, in which the axes of `manual` may cut nothing.
  LogicalResult verifyBlock(Block &block, ArrayRef<StringAttr> manual,
                            const MeshAxes &mesh);
  LogicalResult verifyOp(Operation *op, ArrayRef<StringAttr> manual,
                         const MeshAxes &mesh);
  LogicalResult verifyWhile(Operation *op, ArrayRef<StringAttr> manual,
                            const MeshAxes &mesh);
  LogicalResult verifyBranches(Operation *op, ArrayRef<StringAttr> manual,
                               const MeshAxes &mesh);
  LogicalResult verifyManual(pm::ManualComputationOp op,
                             ArrayRef<StringAttr> manual,
                             const MeshAxes &mesh);
  LogicalResult verifyCollective(Operation *op, ArrayRef<int64_t> mixed,
                                 const MeshAxes &mesh);
  LogicalResult read(Operation *op, Value value, const Twine &what,
                     const MeshAxes &mesh, ArrayRef<StringAttr> manual = {});
  /// `value` must lie as `wanted`, which is that of `what`.
  LogicalResult agrees(Operation *op, OpOperand &value,
                       const ValueSharding &wanted, const Twine &what,
                       const MeshAxes &mesh);
  LogicalResult isWhole(OpOperand &value, const Twine &what,
                        const MeshAxes &mesh);
  const ValueSharding &of(Value value) {
    return shardings.find(value)->second;
  }

  llvm::DenseMap<Value, ValueSharding> shardings;
};
} // namespace

/// Reads and checks the sharding of an argument or a result.
LogicalResult VerifySharded::read(Operation *op, Value value, const Twine &what,
                                  const MeshAxes &mesh,
                                  ArrayRef<StringAttr> manual) {
  pm::ShardingAttr attr = pm::getSharding(value);
  if (!attr)
    return op->emitError(what)
           << " has no sharding; every value of a sharded graph has one";
  for (pm::DimShardingAttr dim : attr.getDims())
    if (dim.getOpen())
      return op->emitError(what) << " has an open dimension in " << attr
                                 << "; after propagation all are closed";
  ValueSharding &sharding = shardings[value] = ValueSharding(attr);
  Axes all = sharding.partial;
  for (auto [number, dim] : llvm::enumerate(sharding.dims)) {
    all.append(dim.axes);
    int64_t pieces = 1;
    for (StringAttr axis : dim.axes)
      pieces *= mesh.sizeOf(axis);
    int64_t size =
        cast<RankedTensorType>(value.getType()).getDimSize(number);
    if (dim.block && dim.block * pieces < size)
      return op->emitError(what)
             << " has blocks of " << dim.block << " in dimension " << number
             << " of size " << size << ", which " << pieces
             << " pieces do not cover";
  }
  for (auto [index, axis] : llvm::enumerate(all)) {
    if (!mesh.has(axis))
      return op->emitError(what)
             << " names the axis '" << axis.getValue() << "', which the mesh '"
             << mesh.symbol().getValue() << "' does not have";
    if (llvm::is_contained(manual, axis))
      return op->emitError(what)
             << " is cut over the axis '" << axis.getValue()
             << "', which is manual here";
    if (llvm::is_contained(ArrayRef(all).take_front(index), axis))
      return op->emitError(what) << " names the axis '" << axis.getValue()
                                 << "' twice in " << attr;
  }
  return success();
}

LogicalResult VerifySharded::agrees(Operation *op, OpOperand &value,
                                    const ValueSharding &wanted,
                                    const Twine &what, const MeshAxes &mesh) {
  ValueSharding own = of(value.get());
  // Zero is partial over everything.
  if (isKnownZero(value.get()) && own.partial.empty()) {
    own.partial = wanted.partial;
    own.kind = wanted.kind;
  }
  if (lieAlike(own, wanted, mesh))
    return success();
  return op->emitError("operand ")
         << value.getOperandNumber() << " is " << of(value.get()).toAttr(mesh)
         << ", but " << what << " is " << wanted.toAttr(mesh)
         << "; a pm.reshard must stand between";
}

LogicalResult VerifySharded::isWhole(OpOperand &value, const Twine &what,
                                     const MeshAxes &mesh) {
  const ValueSharding &own = of(value.get());
  if (lieAlike(own, ValueSharding(own.dims.size()), mesh))
    return success();
  return value.getOwner()->emitError(what)
         << " is " << own.toAttr(mesh) << "; every rank needs all of it";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult VerifySharded::verifyWhile(Operation *op,
                                         ArrayRef<StringAttr> manual,
                                         const MeshAxes &mesh) {
  for (OpOperand &operand : op->getOpOperands())
    if (failed(agrees(op, operand, of(op->getResult(operand.getOperandNumber())),
                      "the carried value", mesh)))
      return failure();
  for (Region &region : op->getRegions()) {
    for (auto [arg, result] :
         llvm::zip(region.getArguments(), op->getResults())) {
      ValueSharding carried = of(result);
      shardings[arg] = std::move(carried);
    }
    if (failed(verifyBlock(region.front(), manual, mesh)))
      return failure();
  }
  Operation *test = op->getRegion(0).front().getTerminator();
  if (failed(isWhole(test->getOpOperand(0), "the condition", mesh)))
    return failure();
  Operation *end = op->getRegion(1).front().getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (failed(agrees(end, operand,
                      of(op->getResult(operand.getOperandNumber())),
                      "the carried value", mesh)))
      return failure();
  return success();
}

LogicalResult VerifySharded::verifyBranches(Operation *op,
                                            ArrayRef<StringAttr> manual,
                                            const MeshAxes &mesh) {
  if (failed(isWhole(op->getOpOperand(0), "the condition", mesh)))
    return failure();
  for (Region &region : op->getRegions()) {
    if (failed(verifyBlock(region.front(), manual, mesh)))
      return failure();
    Operation *end = region.front().getTerminator();
    for (OpOperand &operand : end->getOpOperands())
      if (failed(agrees(end, operand,
                        of(op->getResult(operand.getOperandNumber())),
                        "the result", mesh)))
        return failure();
  }
  return success();
}

LogicalResult VerifySharded::verifyManual(pm::ManualComputationOp op,
                                          ArrayRef<StringAttr> manual,
                                          const MeshAxes &mesh) {
  SmallVector<StringAttr> inside(manual);
  for (Attribute axis : op.getManualAxes())
    inside.push_back(cast<StringAttr>(axis));
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    auto given = cast<pm::ShardingAttr>(op.getInShardings()[index]);
    BlockArgument arg = op.getBody().getArgument(index);
    if (failed(agrees(op, operand, ValueSharding(given), "its in_sharding",
                      mesh)) ||
        failed(read(op, arg, "argument " + Twine(index), mesh, inside)))
      return failure();
    for (StringAttr axis : given.getPartialAxes())
      if (!llvm::is_contained(inside, axis))
        shardings[arg].partial.push_back(axis);
    shardings[arg].kind = given.getPartialKind();
  }
  if (failed(verifyBlock(op.getBody().front(), inside, mesh)))
    return failure();
  Operation *end = op.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    ValueSharding result = of(op.getResult(index));
    if (!lieAlike(result,
                  ValueSharding(
                      cast<pm::ShardingAttr>(op.getOutShardings()[index])),
                  mesh))
      return op.emitError("result ")
             << index << " is " << result.toAttr(mesh)
             << ", but its out_sharding is " << op.getOutShardings()[index];
    auto isManual = [&](StringAttr a) { return llvm::is_contained(inside, a); };
    for (DimCut &dim : result.dims)
      llvm::erase_if(dim.axes, isManual);
    llvm::erase_if(result.partial, isManual);
    if (failed(agrees(end, operand, result, "the inside of its out_sharding",
                      mesh)))
      return failure();
  }
  return success();
}

/// A collective goes through all dimensions but those that it joins or splits.
LogicalResult VerifySharded::verifyCollective(Operation *op,
                                              ArrayRef<int64_t> mixed,
                                              const MeshAxes &mesh) {
  for (auto [operand, result] :
       llvm::zip(op->getOpOperands(), op->getResults())) {
    ValueSharding wanted = of(result);
    for (int64_t dim : mixed)
      if (!wanted.dims[dim].axes.empty())
        return op->emitError("dimension ")
               << dim << " of the result is cut, which the collective mixes";
    auto reduce = dyn_cast<pm::AllReduceOp>(op);
    auto scatter = dyn_cast<pm::ReduceScatterOp>(op);
    if ((reduce && reduce.getKind() != pm::ReductionKind::Sum) ||
        (scatter && scatter.getKind() != pm::ReductionKind::Sum))
      wanted.partial.clear();
    if (failed(agrees(op, operand, wanted, "the result", mesh)))
      return failure();
  }
  return success();
}

LogicalResult VerifySharded::verifyOp(Operation *op,
                                      ArrayRef<StringAttr> manual,
                                      const MeshAxes &mesh) {
  if (auto reshard = dyn_cast<pm::ReshardOp>(op)) {
    if (ValueSharding(reshard.getSource()) != of(reshard.getInput()))
      return op->emitError("the source ")
             << reshard.getSource() << " is not the operand's sharding "
             << of(reshard.getInput()).toAttr(mesh);
    if (ValueSharding(reshard.getTarget()) != of(reshard.getResult()))
      return op->emitError("the target ")
             << reshard.getTarget() << " is not the result's sharding "
             << of(reshard.getResult()).toAttr(mesh);
    return success();
  }
  if (isa<pm::ConstrainOp>(op))
    return op->emitError("a constraint is left; pm-propagate resolves it");
  if (isa<pm::ShardingGroupOp>(op))
    return op->emitError("a sharding group is left; pm-propagate resolves it");
  if (isa<stablehlo::WhileOp>(op))
    return verifyWhile(op, manual, mesh);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return verifyBranches(op, manual, mesh);
  if (auto computation = dyn_cast<pm::ManualComputationOp>(op))
    return verifyManual(computation, manual, mesh);
  if (auto gather = dyn_cast<pm::AllGatherOp>(op))
    return verifyCollective(op, static_cast<int64_t>(gather.getDim()), mesh);
  if (auto scatter = dyn_cast<pm::ReduceScatterOp>(op))
    return verifyCollective(op, static_cast<int64_t>(scatter.getDim()), mesh);
  if (auto exchange = dyn_cast<pm::AllToAllOp>(op))
    return verifyCollective(op,
                            {static_cast<int64_t>(exchange.getSplit()),
                             static_cast<int64_t>(exchange.getConcat())},
                            mesh);
  if (isa<pm::AllReduceOp, pm::CollectivePermuteOp,
          stablehlo::OptimizationBarrierOp>(op))
    return verifyCollective(op, {}, mesh);
  if (op->getNumRegions() > 0) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (!lieAlike(of(value), ValueSharding(of(value).dims.size()), mesh))
        return op->emitError("its region uses a value that is ")
               << of(value).toAttr(mesh) << "; every rank needs all of it";
  }
  SmallVector<const ValueSharding *> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(&of(operand));
  for (Value result : op->getResults())
    results.push_back(&of(result));
  return verifyOpSharding(op, mesh, operands, results);
}

LogicalResult VerifySharded::verifyBlock(Block &block,
                                         ArrayRef<StringAttr> manual,
                                         const MeshAxes &mesh) {
  for (Operation &op : block.without_terminator()) {
    for (OpResult result : op.getResults())
      if (failed(read(&op, result, "result " + Twine(result.getResultNumber()),
                      mesh, manual)))
        return failure();
    if (failed(verifyOp(&op, manual, mesh)))
      return failure();
  }
  return success();
}

LogicalResult VerifySharded::verify(func::FuncOp function,
                                    const MeshAxes &mesh) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a sharded function has one block, not ")
           << function.getBody().getBlocks().size();
  for (BlockArgument arg : function.getArguments())
    if (failed(
            read(function, arg, "argument " + Twine(arg.getArgNumber()), mesh)))
      return failure();
  if (failed(verifyBlock(function.getBody().front(), {}, mesh)))
    return failure();
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    const ValueSharding &sharding = of(operand.get());
    auto given = function.getResultAttrOfType<pm::ShardingAttr>(
        index, pm::kShardingAttr);
    if (!sharding.partial.empty() && (!given || !given.isPartial()))
      return terminator->emitError("result ")
             << index
             << " of the function is partial: " << sharding.toAttr(mesh);
    if (!given || ValueSharding(given) != sharding)
      return terminator->emitError("result ")
             << index << " of the function is " << sharding.toAttr(mesh)
             << ", which its 'pm.sharding' must say";
  }
  return success();
}
