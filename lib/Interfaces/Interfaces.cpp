//===- Interfaces.cpp -----------------------------------------------------===//

#include "pipemesh/Interfaces/Interfaces.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

#include "pipemesh/Interfaces/CostOpInterface.cpp.inc"
#include "pipemesh/Interfaces/DecomposableOpInterface.cpp.inc"
#include "pipemesh/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "pipemesh/Interfaces/ShardingRuleOpInterface.cpp.inc"

/// Bytes of a tensor; an i1 takes one byte, as in every buffer of ours.
static int64_t byteSize(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return 0;
  return tensor.getNumElements() *
         ((tensor.getElementTypeBitWidth() + 7) / 8);
}

pipemesh::OpCost pipemesh::getOpCost(Operation *op) {
  if (auto cost = dyn_cast<CostOpInterface>(op))
    return cost.getCost();
  OpCost cost;
  for (Type type : op->getOperandTypes())
    cost.bytesRead += byteSize(type);
  for (Type type : op->getResultTypes()) {
    cost.bytesWritten += byteSize(type);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (tensor.hasStaticShape() && isa<FloatType>(tensor.getElementType()))
        cost.flops += tensor.getNumElements();
  }
  return cost;
}
