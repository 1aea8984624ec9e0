//===- Interfaces.h - what an op tells about itself -------------*- C++ -*-===//

#ifndef PIPEMESH_INTERFACES_INTERFACES_H
#define PIPEMESH_INTERFACES_INTERFACES_H

#include "pipemesh/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace pipemesh {

/// Cost of one op on one device.
struct OpCost {
  int64_t flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// The cost of any op: from its interface, or the default described there.
OpCost getOpCost(mlir::Operation *op);

} // namespace pipemesh

#include "pipemesh/Interfaces/CostOpInterface.h.inc"
#include "pipemesh/Interfaces/DecomposableOpInterface.h.inc"
#include "pipemesh/Interfaces/DifferentiableOpInterface.h.inc"
#include "pipemesh/Interfaces/ShardingRuleOpInterface.h.inc"

#endif // PIPEMESH_INTERFACES_INTERFACES_H
