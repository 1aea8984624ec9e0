//===- PackedCollectives.h - several blocks in one exchange -----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PACKEDCOLLECTIVES_H
#define PIPEMESH_LIB_SHARD_PACKEDCOLLECTIVES_H

#include "pipemesh/Dialect/PM/PM.h"

namespace pipemesh {

/// Merges gathers over the same axes of one element type, at the builder's place:
/// what each rank holds of all members is laid out in a row, and the rows of the
/// ranks are gathered. The members are left; returns what replaces their results.
llvm::SmallVector<mlir::Value>
packGathers(mlir::OpBuilder &builder, mlir::Location loc,
            llvm::ArrayRef<mlir::Operation *> members, pm::MeshOp mesh);

/// The same of reduce-scatters of one kind: a row for each rank holds its blocks
/// of all members, and the rows are summed and scattered.
llvm::SmallVector<mlir::Value>
packScatters(mlir::OpBuilder &builder, mlir::Location loc,
             llvm::ArrayRef<mlir::Operation *> members, pm::MeshOp mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PACKEDCOLLECTIVES_H
