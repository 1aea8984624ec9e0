// Calls and composites, inlined.
#ifndef PIPEMESH_LIB_IMPORT_STABLEHLO_INLINECALLS_H
#define PIPEMESH_LIB_IMPORT_STABLEHLO_INLINECALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace pipemesh {

/// Puts the bodies of the module's functions in the place of `func.call` and
/// `stablehlo.composite`, and removes private functions. An `sdy.sharding` of a
/// called function's argument or result becomes a constraint. Fails, after a
/// diagnostic, where a function calls itself, is missing, or where the result
/// would be too large.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_STABLEHLO_INLINECALLS_H
