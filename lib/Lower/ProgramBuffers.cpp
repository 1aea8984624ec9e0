//===- ProgramBuffers.cpp -------------------------------------------------===//

#include "ProgramBuffers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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

/// Tensors of numbers whose sizes are known.
static bool hasSize(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return tensor.hasStaticShape() && element.isIntOrFloat();
}

LogicalResult ProgramBuffers::verify(ModuleOp module) const {
  if (!program || !mesh)
    return module.emitError("has no ")
           << (program ? "pm.mesh" : "pm.program")
           << "; run pm-split-stages, pm-partition and pm-schedule first";
  auto refuse = [](Operation *op, Type type) {
    return op->emitError("a program needs tensors of numbers with known sizes, "
                         "but the type is ")
           << type;
  };
  for (pm::BufferOp buffer : buffers)
    if (!isa<RankedTensorType>(buffer.getType()) || !hasSize(buffer.getType()))
      return refuse(buffer, buffer.getType());
  for (auto function : module.getOps<func::FuncOp>()) {
    WalkResult result = function.walk([&](Operation *op) -> WalkResult {
      for (Type type : op->getResultTypes())
        if (!hasSize(type))
          return refuse(op, type);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Type type : block.getArgumentTypes())
            if (!hasSize(type))
              return refuse(op, type);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
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
