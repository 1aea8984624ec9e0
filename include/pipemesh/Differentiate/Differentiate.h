//===- Differentiate.h - reverse-mode differentiation -----------*- C++ -*-===//
//
// What the passes of this phase are made of, for tools that differentiate a
// function by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_DIFFERENTIATE_DIFFERENTIATE_H
#define PIPEMESH_DIFFERENTIATE_DIFFERENTIATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pipemesh {

/// Attaches DifferentiableOpInterface to the ops of stablehlo, chlo and pm.
void registerDifferentiationModels(mlir::DialectRegistry &registry);

/// The cotangents known so far: of a value that no gradient flows into there is
/// no entry.
using CotangentMap = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Adds `cotangent` to the one that `value` has; a null one counts as zero.
void addCotangent(mlir::OpBuilder &builder, mlir::Location loc,
                  CotangentMap &cotangents, mlir::Value value,
                  mlir::Value cotangent);

/// Builds, at the builder's insertion point, the reverse sweep through `ops`
/// (of one block, in its order). `cotangents` holds those of results on entry,
/// and in addition those of `targets` on return. Only what lies between a
/// target and an entry is built. Emits an error and fails where an op on such a
/// path has no gradient; `destination` ("the loss") is how the error calls the
/// entries.
mlir::LogicalResult buildReverseSweep(mlir::OpBuilder &builder,
                                      llvm::ArrayRef<mlir::Operation *> ops,
                                      llvm::ArrayRef<mlir::Value> targets,
                                      CotangentMap &cotangents,
                                      llvm::StringRef destination);

/// For `@f(args) -> results` adds `@f_grad(args, cotangents of the
/// floating-point results) -> cotangents of the floating-point arguments`
/// behind it, in their order. The cotangent of an argument that no result
/// depends on is a constant zero. Fails, with an error on the function, where
/// it has no single block, or the name is taken.
mlir::FailureOr<mlir::func::FuncOp>
differentiateFunction(mlir::func::FuncOp function);

} // namespace pipemesh

#endif // PIPEMESH_DIFFERENTIATE_DIFFERENTIATE_H
