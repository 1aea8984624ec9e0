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

static LogicalResult verifyCollective(pm::AllReduceOp op,
                                      const MeshAxes &mesh) {
  for (auto axis : op.getAxes().getAsRange<StringAttr>()) {
    if (!mesh.has(axis))
      return op.emitError("runs over the axis '")
             << axis.getValue() << "', which the mesh does not have";
    if (mesh.isTemporal(axis))
      return op.emitError("runs over the temporal axis '")
             << axis.getValue() << "'; micro-batches are summed by buffers";
  }
  return success();
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
      if (isa<pm::ReshardOp, pm::ConstrainOp>(op))
        return op->emitError("is left at the partitioned level");
      if (op->hasAttr(pm::kShardingsAttr))
        return op->emitError("has shardings at the partitioned level, where "
                             "types are local");
      if (auto reduce = dyn_cast<pm::AllReduceOp>(op))
        return verifyCollective(reduce, mesh);
      return success();
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
