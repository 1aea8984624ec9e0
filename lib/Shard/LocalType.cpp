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

FailureOr<RankedTensorType> pipemesh::localTypeOf(Location loc,
                                                  RankedTensorType global,
                                                  const ValueSharding &sharding,
                                                  const MeshAxes &mesh,
                                                  bool temporal) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [dim, cut] : llvm::enumerate(sharding.dims)) {
    const Axes &axes = cut.axes;
    bool anyTemporal = llvm::any_of(
        axes, [&](StringAttr axis) { return mesh.isTemporal(axis); });
    if (!anyTemporal) {
      int64_t blocks = 1;
      for (StringAttr axis : axes)
        blocks *= mesh.sizeOf(axis);
      if (cut.block && blocks > 1)
        shape[dim] = cut.block;
      else if (isSeeded(Fault::FloorBlocks))
        shape[dim] /= blocks;
      else
        shape[dim] = llvm::divideCeil(shape[dim], blocks);
      continue;
    }
    bool behindTemporal = false;
    for (StringAttr axis : axes) {
      // A rank's micro-batches lie one behind the other: together they are one
      // block only if no spatial axis cuts within a micro-batch.
      if (behindTemporal && !mesh.isTemporal(axis))
        return LogicalResult(
            emitError(loc)
            << "axis '" << axis.getValue() << "' cuts dimension " << dim
            << " within a micro-batch; put temporal axes behind spatial ones");
      behindTemporal |= mesh.isTemporal(axis);
      if (mesh.isTemporal(axis) && !temporal)
        continue;
      int64_t size = mesh.sizeOf(axis);
      if (shape[dim] % size != 0)
        return LogicalResult(emitError(loc)
                             << "axis '" << axis.getValue() << "' of size "
                             << size << " does not divide dimension " << dim
                             << " of size " << global.getDimSize(dim)
                             << " of a value of type " << global
                             << "; every micro-batch must have the same size");
      shape[dim] /= size;
    }
  }
  return RankedTensorType::get(shape, global.getElementType());
}
