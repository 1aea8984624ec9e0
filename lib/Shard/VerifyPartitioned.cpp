//===- VerifyPartitioned.cpp - the verifier of SPMD fragments -------------===//

#include "LocalType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYPARTITIONEDPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

static LogicalResult verifyAxes(Operation *op, ArrayAttr axes,
                                const MeshAxes &mesh) {
  for (auto axis : axes.getAsRange<StringAttr>()) {
    if (!mesh.has(axis))
      return op->emitError("runs over the axis '")
             << axis.getValue() << "', which the mesh does not have";
    if (mesh.isTemporal(axis))
      return op->emitError("runs over the temporal axis '")
             << axis.getValue() << "'; micro-batches are summed by buffers";
    if (mesh.isStage(axis))
      return op->emitError("runs over the stage axis '")
             << axis.getValue() << "'; stages exchange values by transfers";
  }
  return success();
}

static int64_t countMembers(ArrayAttr axes, const MeshAxes &mesh) {
  int64_t members = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    members *= mesh.sizeOf(axis);
  return members;
}

/// The blocks of all members must hold the dimension. They may be larger than the
/// size rounded up, as a sharding says: the last ones are shorter then.
static LogicalResult verifyBlocks(Operation *op, Type wholeType, Type blockType,
                                  int64_t dim, ArrayAttr axes,
                                  const MeshAxes &mesh) {
  int64_t blocks = countMembers(axes, mesh);
  int64_t whole = cast<RankedTensorType>(wholeType).getDimSize(dim);
  int64_t block = cast<RankedTensorType>(blockType).getDimSize(dim);
  if (block >= int64_t(llvm::divideCeil(whole, blocks)) && block <= whole)
    return success();
  return op->emitError("has blocks of ")
         << block << " elements, but dimension " << dim << " of " << whole
         << " is " << llvm::divideCeil(whole, blocks) << " for each of "
         << blocks << " ranks";
}

static LogicalResult verifyCollective(Operation *op, const MeshAxes &mesh) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  if (!isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
           pm::AllToAllOp, pm::CollectivePermuteOp>(op))
    return success();
  if (failed(verifyAxes(op, axes, mesh)))
    return failure();
  if (auto gather = dyn_cast<pm::AllGatherOp>(op))
    return verifyBlocks(op, gather.getResult().getType(),
                        gather.getInput().getType(), gather.getDim(), axes,
                        mesh);
  if (auto scatter = dyn_cast<pm::ReduceScatterOp>(op))
    return verifyBlocks(op, scatter.getInput().getType(),
                        scatter.getResult().getType(), scatter.getDim(), axes,
                        mesh);
  if (auto move = dyn_cast<pm::AllToAllOp>(op)) {
    Type before = move.getInput().getType(), after = move.getResult().getType();
    if (failed(verifyBlocks(op, before, after, move.getSplit(), axes, mesh)))
      return failure();
    return verifyBlocks(op, after, before, move.getConcat(), axes, mesh);
  }
  return success();
}

/// A place on an axis that the mesh has; on a temporal one it is that of the
/// micro-batch that runs.
static LogicalResult verifyAxisIndex(pm::AxisIndexOp op, const MeshAxes &mesh) {
  if (mesh.has(op.getAxisAttr()))
    return success();
  return op.emitError("asks for the place on the axis '")
         << op.getAxis() << "', which the mesh does not have";
}

using Buffers = llvm::DenseMap<Attribute, pm::BufferOp>;

/// The value of a fragment against the buffer that it is bound to.
static LogicalResult verifyBinding(func::FuncOp function, const Twine &what,
                                   Attribute name, Type type,
                                   const MeshAxes &mesh,
                                   const Buffers &buffers) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(name);
  if (!symbol)
    return function.emitError(what) << " is bound to no buffer";
  pm::BufferOp buffer = buffers.lookup(symbol);
  if (!buffer)
    return function.emitError(what)
           << " is bound to " << symbol << ", which the program does not have";
  if (!buffer.getGlobalType())
    return buffer.emitError("has no global type; run pm-partition");
  FailureOr<RankedTensorType> local = localTypeOf(
      buffer.getLoc(), cast<RankedTensorType>(*buffer.getGlobalType()),
      ValueSharding(buffer.getSharding()), mesh, isPerMicroBatch(function));
  if (failed(local))
    return failure();
  if (*local != type)
    return function.emitError(what) << " is " << type << ", but its buffer "
                                    << symbol << " gives " << *local;
  return success();
}

namespace {
class VerifyPartitioned
    : public pipemesh::impl::VerifyPartitionedPassBase<VerifyPartitioned> {
public:
  void runOnOperation() override {
    pm::MeshOp meshOp = pm::lookupMesh(getOperation());
    if (!meshOp) {
      getOperation().emitError("a partitioned module has a pm.mesh");
      return signalPassFailure();
    }
    MeshAxes mesh(meshOp);
    buffers.clear();
    getOperation().walk([&](pm::BufferOp buffer) {
      buffers[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffer;
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verify(function, mesh)))
        return signalPassFailure();
  }

private:
  LogicalResult verify(func::FuncOp function, const MeshAxes &mesh) {
    WalkResult result = function.walk([&](Operation *op) -> WalkResult {
      if (isa<pm::ReshardOp, pm::ConstrainOp, pm::ShardingGroupOp,
              pm::ManualComputationOp>(op))
        return op->emitError("is left at the partitioned level");
      if (auto index = dyn_cast<pm::AxisIndexOp>(op))
        return verifyAxisIndex(index, mesh);
      if (op->hasAttr(pm::kShardingsAttr))
        return op->emitError("has shardings at the partitioned level, where "
                             "types are local");
      return verifyCollective(op, mesh);
    });
    if (result.wasInterrupted())
      return failure();
    if (!function->hasAttr(pm::kFragmentAttr))
      return success();
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (failed(verifyBinding(function, "argument " + Twine(index),
                               function.getArgAttr(index, pm::kBufferAttr),
                               type, mesh, buffers)))
        return failure();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(verifyBinding(function, "result " + Twine(index),
                               function.getResultAttr(index, pm::kBufferAttr),
                               type, mesh, buffers)))
        return failure();
    return success();
  }

  Buffers buffers;
};
} // namespace
