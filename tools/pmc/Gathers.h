//===- Gathers.h - what is made whole, and why ------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_GATHERS_H
#define PIPEMESH_TOOLS_PMC_GATHERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace pipemesh {

/// Of a sharded graph, every reshard after which a rank holds more of a value
/// than before: `value` (what makes it, and its type), `axes` that it is gathered
/// over, `bytes` that a rank then holds, `runs`, `reader` and `reason`: what the
/// rule of the op that reads it says, or what else asks for it.
llvm::json::Array listGathers(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_GATHERS_H
