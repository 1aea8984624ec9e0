//===- OptimizerStep.h - from gradients to new state ------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_DIFFERENTIATE_OPTIMIZERSTEP_H
#define PIPEMESH_LIB_DIFFERENTIATE_OPTIMIZERSTEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"

namespace pipemesh {

/// The module attribute that says what was compiled in.
inline constexpr llvm::StringLiteral kRecipeAttr = "pm.recipe";

/// A trained parameter with its gradient.
struct Parameter {
  mlir::BlockArgument argument;
  pm::StateAttr state;
  mlir::Value gradient;
};

struct OptimizerOptions {
  /// Decay parameters of fewer than two dimensions too.
  bool decayVectors = true;
  /// Scale the gradients when their norm is greater than `clip_norm`.
  bool clip = false;
};

/// Appends AdamW: the moments, the step and the run-time scalars as arguments;
/// the norm and the gradients as outputs; the new state as results.
void appendOptimizerStep(mlir::func::FuncOp step,
                         llvm::ArrayRef<Parameter> parameters,
                         const OptimizerOptions &options);

} // namespace pipemesh

#endif // PIPEMESH_LIB_DIFFERENTIATE_OPTIMIZERSTEP_H
