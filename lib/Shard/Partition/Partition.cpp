//===- Partition.cpp - local shapes, and collectives for reshards ---------===//

#include "../Gathers.h"
#include "Partitioner.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_PARTITIONPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
class Partition : public pipemesh::impl::PartitionPassBase<Partition> {
public:
  void runOnOperation() override {
    pm::MeshOp meshOp = pm::lookupMesh(getOperation());
    if (!meshOp) {
      getOperation().emitError("the module has no mesh to partition over");
      return signalPassFailure();
    }
    MeshAxes mesh(meshOp);
    remarkGathers(getOperation());
    Padding padding(getOperation(), mesh);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(Partitioner(function, mesh, padding).run()))
        return signalPassFailure();
    WalkResult result = getOperation().walk([&](pm::BufferOp buffer) {
      auto global = cast<RankedTensorType>(buffer.getType());
      FailureOr<RankedTensorType> local = localTypeOf(
          buffer.getLoc(), global, ValueSharding(buffer.getSharding()), mesh,
          /*temporal=*/true);
      if (failed(local))
        return WalkResult::interrupt();
      buffer.setGlobalTypeAttr(TypeAttr::get(global));
      buffer.setTypeAttr(TypeAttr::get(*local));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
