//===- ProgramBuffers.cpp -------------------------------------------------===//

#include "ProgramBuffers.h"

using namespace mlir;
using namespace pipemesh;

ProgramBuffers::ProgramBuffers(ModuleOp module) : mesh(pm::lookupMesh(module)) {
  for (auto op : module.getOps<pm::ProgramOp>())
    program = op;
  if (!program)
    return;
  for (auto buffer : program.getBody().front().getOps<pm::BufferOp>()) {
    buffers.push_back(buffer);
    byName[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffer;
  }
}

pm::BufferOp ProgramBuffers::lookup(FlatSymbolRefAttr name) const {
  return name ? byName.lookup(name) : pm::BufferOp();
}

int64_t ProgramBuffers::getNumMicroBatches(pm::BufferOp buffer) const {
  int64_t count = 1;
  for (pm::DimShardingAttr dim : buffer.getSharding().getDims())
    for (StringAttr name : dim.getAxes())
      if (auto axis = pm::MeshOp(mesh).lookupAxis(name.getValue()))
        if (axis.getKind() == pm::AxisKind::Temporal)
          count *= axis.getSize();
  return count;
}

bool ProgramBuffers::accumulates(pm::BufferOp buffer) const {
  return llvm::any_of(
      buffer.getSharding().getPartialAxes(), [&](StringAttr name) {
        auto axis = pm::MeshOp(mesh).lookupAxis(name.getValue());
        return axis && axis.getKind() == pm::AxisKind::Temporal &&
               axis.getSize() > 1;
      });
}

int64_t pipemesh::getByteSize(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  int64_t parts = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    parts = 2;
  }
  return tensor.getNumElements() * parts *
         ((element.getIntOrFloatBitWidth() + 7) / 8);
}
