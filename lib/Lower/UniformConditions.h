//===- UniformConditions.h - ranks that meet take the same way --*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_UNIFORMCONDITIONS_H
#define PIPEMESH_LIB_LOWER_UNIFORMCONDITIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pipemesh {

/// Fails with a diagnostic at a collective that stands in a loop or a choice
/// whose condition is not provably the same on all ranks that it joins. Follows,
/// through the ops of a partitioned fragment, over which mesh axes a value may
/// differ: what a buffer is cut or partial over, a rank's coordinate, and what is
/// computed from them; an all-reduce or an all-gather ends that for its axes.
mlir::LogicalResult verifyUniformConditions(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_UNIFORMCONDITIONS_H
