//===- StagePlaces.h - stages and lists that a strategy asks for *- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_STAGEPLACES_H
#define PIPEMESH_LIB_SHARD_STAGEPLACES_H

#include "Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace pipemesh {

/// Checks what a strategy says of the pipeline, reads its file of action lists,
/// and sets the module's attributes for the passes that follow. `text` is the
/// strategy as it was given.
mlir::LogicalResult placeStages(mlir::ModuleOp module, llvm::StringRef text,
                                const Strategy &strategy);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_STAGEPLACES_H
