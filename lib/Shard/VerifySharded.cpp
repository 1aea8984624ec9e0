//===- VerifySharded.cpp - the verifier of the sharded level --------------===//

#include "ShardingAlgebra.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
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
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(verify(function, axes)))
        return signalPassFailure();
  }

private:
  LogicalResult verify(func::FuncOp function, const MeshAxes &mesh);
  LogicalResult verifyOp(Operation *op, const MeshAxes &mesh);
  LogicalResult read(Operation *op, Value value, const Twine &what,
                     const MeshAxes &mesh);

  llvm::DenseMap<Value, ValueSharding> shardings;
};
} // namespace

/// Reads and checks the sharding of an argument or a result.
LogicalResult VerifySharded::read(Operation *op, Value value, const Twine &what,
                                  const MeshAxes &mesh) {
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
  for (const DimCut &dim : sharding.dims)
    all.append(dim.axes);
  for (StringAttr axis : all)
    if (!mesh.has(axis))
      return op->emitError(what)
             << " names the axis '" << axis.getValue() << "', which the mesh '"
             << mesh.symbol().getValue() << "' does not have";
  return success();
}

LogicalResult VerifySharded::verifyOp(Operation *op, const MeshAxes &mesh) {
  if (auto reshard = dyn_cast<pm::ReshardOp>(op)) {
    if (ValueSharding(reshard.getSource()) != shardings[reshard.getInput()])
      return op->emitError("the source ")
             << reshard.getSource() << " is not the operand's sharding "
             << shardings[reshard.getInput()].toAttr(mesh);
    if (ValueSharding(reshard.getTarget()) != shardings[reshard.getResult()])
      return op->emitError("the target ")
             << reshard.getTarget() << " is not the result's sharding "
             << shardings[reshard.getResult()].toAttr(mesh);
    return success();
  }
  if (isa<pm::ConstrainOp>(op))
    return op->emitError("a constraint is left; pm-propagate resolves it");
  bool hasRule;
  ShardingRule rule = getRule(op, hasRule);
  SmallVector<const ValueSharding *> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(&shardings.find(operand)->second);
  for (Value result : op->getResults())
    results.push_back(&shardings.find(result)->second);
  FactorAxes factors = chooseFactorAxes(op, rule, mesh, operands, results);
  OpShardings wanted =
      inferOpShardings(op, rule, factors, mesh, operands,
                       [](unsigned, StringAttr) { return false; });
  for (auto [index, needed] : llvm::enumerate(wanted.operands))
    if (needed != *operands[index])
      return op->emitError("operand ")
             << index << " is " << operands[index]->toAttr(mesh)
             << ", but the op needs " << needed.toAttr(mesh)
             << "; a pm.reshard must stand between";
  for (auto [index, given] : llvm::enumerate(wanted.results))
    if (given != *results[index])
      return op->emitError("result ")
             << index << " is " << results[index]->toAttr(mesh)
             << ", but the op makes " << given.toAttr(mesh);
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
  for (Operation &op : function.getBody().front().without_terminator()) {
    for (OpResult result : op.getResults())
      if (failed(read(&op, result, "result " + Twine(result.getResultNumber()),
                      mesh)))
        return failure();
    if (failed(verifyOp(&op, mesh)))
      return failure();
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    const ValueSharding &sharding = shardings[operand.get()];
    if (!sharding.partial.empty())
      return terminator->emitError("result ")
             << index
             << " of the function is partial: " << sharding.toAttr(mesh);
    auto given = function.getResultAttrOfType<pm::ShardingAttr>(
        index, pm::kShardingAttr);
    if (!given || ValueSharding(given) != sharding)
      return terminator->emitError("result ")
             << index << " of the function is " << sharding.toAttr(mesh)
             << ", which its 'pm.sharding' must say";
  }
  return success();
}
