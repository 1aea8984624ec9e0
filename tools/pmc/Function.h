//===- Function.h - whole functions as programs -----------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_FUNCTION_H
#define PIPEMESH_TOOLS_PMC_FUNCTION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace pipemesh {

/// Makes a module that is no training step (what JAX prints, or a function by
/// hand) ready for the levels: imports its StableHLO, lays the strategy's mesh
/// where it has none, and gives it the task "function". `shardings` annotate
/// arguments and results: `arg0=dp,-,tp` cuts dimension 0 of argument 0 over
/// `dp` and dimension 2 over `tp`; `dp+tp` are two axes. On failure a diagnostic
/// says what is wrong.
mlir::LogicalResult prepareFunction(mlir::ModuleOp module,
                                    llvm::StringRef strategy,
                                    llvm::ArrayRef<std::string> shardings);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_FUNCTION_H
