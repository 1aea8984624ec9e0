//===- Gathers.h - dimensions that ops need whole ---------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_GATHERS_H
#define PIPEMESH_LIB_SHARD_GATHERS_H

#include "ShardingAlgebra.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Shard/GatherReasons.h"

namespace pipemesh {

/// A dimension of an operand that is gathered in front of an op.
struct Gather {
  mlir::Operation *user;
  unsigned operand, dim;
  /// The axes that cut it before.
  Axes axes;
  /// Why the op needs it whole, as its rule says.
  const char *reason;
};

/// The gathers that propagation put in because a rule needs a dimension whole.
/// Those that an annotation asks for are not among them.
llvm::SmallVector<Gather> findGathers(mlir::ModuleOp module);

/// A remark for each of them.
void remarkGathers(mlir::ModuleOp module);

/// What the first reader of a reshard needs the gathered value for.
GatherReason findGatherReason(pm::ReshardOp reshard);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_GATHERS_H
