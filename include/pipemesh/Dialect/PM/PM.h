//===- PM.h - the pm dialect ------------------------------------*- C++ -*-===//

#ifndef PIPEMESH_DIALECT_PM_PM_H
#define PIPEMESH_DIALECT_PM_PM_H

#include "pipemesh/Interfaces/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pipemesh/Dialect/PM/PMDialect.h.inc"
#include "pipemesh/Dialect/PM/PMEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/PM/PMAttrs.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/PM/PMOps.h.inc"

namespace pipemesh::pm {

/// Names of the discardable attributes that PMDialect.td documents.
inline constexpr llvm::StringLiteral kInputAttr = "pm.input";
inline constexpr llvm::StringLiteral kOutputAttr = "pm.output";
inline constexpr llvm::StringLiteral kNameAttr = "pm.name";
inline constexpr llvm::StringLiteral kStateAttr = "pm.state";
inline constexpr llvm::StringLiteral kStoredShapeAttr = "pm.stored_shape";
inline constexpr llvm::StringLiteral kScheduleAttr = "pm.schedule";
inline constexpr llvm::StringLiteral kShardingAttr = "pm.sharding";
inline constexpr llvm::StringLiteral kShardingsAttr = "pm.shardings";
inline constexpr llvm::StringLiteral kPhaseAttr = "pm.phase";
inline constexpr llvm::StringLiteral kFragmentAttr = "pm.fragment";
inline constexpr llvm::StringLiteral kBufferAttr = "pm.buffer";

/// The one mesh of a module, or null.
MeshOp lookupMesh(mlir::Operation *anyOpInModule);

/// The sharding of a value: from its op's `pm.shardings`, or from its
/// function's argument attribute; null where it has none. An argument of a
/// loop's region has that of the result of the same number, one of a manual
/// computation what `in_shardings` leaves to other axes.
ShardingAttr getSharding(mlir::Value value);

/// Sets what getSharding reads.
void setSharding(mlir::Value value, ShardingAttr sharding);

/// The location's model name (`model.layers.3.mlp`), or "".
llvm::StringRef getModelName(mlir::Location loc);

} // namespace pipemesh::pm

#endif // PIPEMESH_DIALECT_PM_PM_H
