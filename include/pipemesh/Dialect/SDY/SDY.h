// The sdy dialect: shardings as JAX writes them.
#ifndef PIPEMESH_DIALECT_SDY_SDY_H
#define PIPEMESH_DIALECT_SDY_SDY_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pipemesh/Dialect/SDY/SDYDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "pipemesh/Dialect/SDY/SDYAttrs.h.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/SDY/SDYOps.h.inc"

namespace pipemesh::sdy {

/// The discardable attribute that SDY.td documents.
inline constexpr llvm::StringLiteral kShardingAttr = "sdy.sharding";

} // namespace pipemesh::sdy

#endif // PIPEMESH_DIALECT_SDY_SDY_H
