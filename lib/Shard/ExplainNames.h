//===- ExplainNames.h - what users call values ------------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_EXPLAINNAMES_H
#define PIPEMESH_LIB_SHARD_EXPLAINNAMES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include <string>

namespace pipemesh {

/// The input, the parameter, the module of the model, or `argN`; empty for an op
/// of a file without names.
std::string nameOf(mlir::Value value);

/// `stablehlo.add at model.layers.0`, or `stablehlo.add at step.mlir:57`.
std::string placeOf(mlir::Operation *op);

/// The values that have a sharding and are called so: by `nameOf`, by a result's
/// number (`out0`), by the line of their op (`:57`, `step.mlir:57`), or by the
/// name of their op (`dot_general`, `stablehlo.dot_general`).
llvm::SmallVector<mlir::Value> valuesNamed(mlir::ModuleOp module,
                                           llvm::StringRef name);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_EXPLAINNAMES_H
