//===- ControlFlow.h - the ops whose regions are programs -------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_CONTROLFLOW_H
#define PIPEMESH_LIB_LOWER_CONTROLFLOW_H

#include "pipemesh/Dialect/StableHLO/StableHLO.h"

namespace pipemesh {

/// On a `stablehlo.while`, an i64: how often its body runs. Set by
/// pm-prepare-loops where it can tell.
inline constexpr llvm::StringLiteral kTripsAttr = "pmrt.trips";

/// Whether the op's regions hold ops over tensors that the runtime executes one
/// by one, and not scalars.
inline bool isControlFlow(mlir::Operation *op) {
  return mlir::isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
}

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_CONTROLFLOW_H
