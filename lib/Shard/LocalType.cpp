//===- LocalType.cpp - the shapes of one rank and micro-batch -------------===//

#include "LocalType.h"
#include "mlir/IR/Diagnostics.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;

bool pipemesh::isPerMicroBatch(FunctionOpInterface function) {
  auto fragment = function->getAttrOfType<pm::FragmentAttr>(pm::kFragmentAttr);
  return fragment && fragment.isPerMicroBatch();
}

Axes pipemesh::activeAxes(ArrayRef<StringAttr> axes, const MeshAxes &mesh,
                          bool temporal) {
  Axes active;
  for (StringAttr axis : axes)
    if (temporal || !mesh.isTemporal(axis))
      active.push_back(axis);
  return active;
}

int64_t pipemesh::blockOf(int64_t size, const DimCut &cut, const MeshAxes &mesh,
                          bool temporal) {
  int64_t blocks = 1, microBatches = 1;
  for (StringAttr axis : cut.axes) {
    blocks *= mesh.sizeOf(axis);
    if (mesh.isTemporal(axis))
      microBatches *= mesh.sizeOf(axis);
  }
  int64_t block = cut.block && blocks > 1 ? cut.block
                  : isSeeded(Fault::FloorBlocks) && microBatches == 1
                      ? size / blocks
                      : llvm::divideCeil(size, blocks);
  return temporal ? block : block * microBatches;
}

FailureOr<RankedTensorType> pipemesh::localTypeOf(Location loc,
                                                  RankedTensorType global,
                                                  const ValueSharding &sharding,
                                                  const MeshAxes &mesh,
                                                  bool temporal) {
  SmallVector<int64_t> shape;
  for (auto [dim, cut] : llvm::enumerate(sharding.dims)) {
    bool isBehindTemporal = false;
    for (StringAttr axis : cut.axes) {
      if (mesh.sizeOf(axis) == 1)
        continue;
      // A rank's micro-batches lie one behind the other: together they are one
      // block only if no spatial axis cuts within a micro-batch.
      if (isBehindTemporal && !mesh.isTemporal(axis))
        return LogicalResult(
            emitError(loc)
            << "axis '" << axis.getValue() << "' cuts dimension " << dim
            << " within a micro-batch; put temporal axes behind spatial ones");
      isBehindTemporal |= mesh.isTemporal(axis);
    }
    shape.push_back(blockOf(global.getDimSize(dim), cut, mesh, temporal));
  }
  return global.clone(shape);
}
