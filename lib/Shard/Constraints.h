//===- Constraints.h - constraints that strategies put ----------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_CONSTRAINTS_H
#define PIPEMESH_LIB_SHARD_CONSTRAINTS_H

#include "pipemesh/Dialect/PM/PM.h"

namespace pipemesh {

/// Marks a `pm.constrain` that says how a value is kept or read, and nothing
/// about how it is computed: propagation does not carry it to the operand.
inline constexpr llvm::StringLiteral kForwardOnlyAttr = "pm.forward_only";

/// Puts `value` under `sharding`, behind its definition, for the uses that
/// `isMeant` names. `phase` may be null.
pm::ConstrainOp
constrainUses(mlir::Value value, pm::ShardingAttr sharding,
              mlir::Attribute phase,
              llvm::function_ref<bool(mlir::OpOperand &)> isMeant);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_CONSTRAINTS_H
