//===- Explain.h - why a value lies as it does ------------------*- C++ -*-===//

#ifndef PIPEMESH_SHARD_EXPLAIN_H
#define PIPEMESH_SHARD_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace pipemesh {

/// Of a module at the sharded level: prints for each value of that name (an
/// input or a parameter, `arg0`, `out0`, the model location of an op, its line,
/// or its kind) its sharding; for each axis the shortest chain of ops that leads to an argument or a
/// constraint that has it; and for each reshard of it the steps, with the bytes
/// that a rank sends and the seconds that takes, and what the other ways cost.
/// Returns whether there is such a value.
bool explain(mlir::ModuleOp module, llvm::StringRef name,
             llvm::raw_ostream &os);

} // namespace pipemesh

#endif // PIPEMESH_SHARD_EXPLAIN_H
