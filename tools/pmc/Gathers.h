//===- Gathers.h - what is made whole, and why ------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_GATHERS_H
#define PIPEMESH_TOOLS_PMC_GATHERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace pipemesh {

/// Every gather of a partitioned module: `value` (what makes its operand, and
/// the type of its result on a rank), `axes` that it is gathered over, `bytes`
/// that a rank holds then, `function` and `runs` (in one call of that), and `for`:
/// a list of `reader` and `reason`, of several where small ones are packed.
llvm::json::Array listGathers(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_GATHERS_H
