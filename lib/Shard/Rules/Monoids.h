//===- Monoids.h - bodies that join elements --------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_RULES_MONOIDS_H
#define PIPEMESH_LIB_SHARD_RULES_MONOIDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "pipemesh/Interfaces/ShardingRule.h"
#include <optional>

namespace pipemesh {

/// The one op that a body applies to both of its arguments, whose order does
/// not matter, and returns; null where it does anything else.
mlir::Operation *getAppliedOp(mlir::Region &body);

/// The collective that joins what ranks computed by the op: a sum, a maximum, or
/// a minimum. On booleans `or` is a maximum and `and` a minimum.
std::optional<ReductionKind> getMonoidKind(mlir::Operation *body,
                                           mlir::Type element);

/// A tensor of the element that leaves others as they are; null for an op that
/// has none on that type.
mlir::DenseElementsAttr getNeutralOf(mlir::Operation *body,
                                     mlir::RankedTensorType type);

/// Whether the value is a constant of equal elements, and that is the neutral
/// one.
bool isNeutral(mlir::Value value, mlir::Operation *body);

/// How results of a lookup are joined that are zero but on one rank.
ReductionKind foundKind(mlir::Value result);

/// A constant, or a repetition of one, whose elements are equal.
bool isSplatConstant(mlir::Value value);

int64_t countElements(mlir::Value value);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_RULES_MONOIDS_H
