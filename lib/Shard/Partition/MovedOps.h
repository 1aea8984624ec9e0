//===- MovedOps.h - ops whose elements move along dimensions ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H
#define PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H

#include "Partitioner.h"

namespace pipemesh {

/// Builds an op on operands that lie as `shardings` says, with results of these
/// types.
using BuildMoved = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    llvm::ArrayRef<mlir::Value> operands,
    llvm::ArrayRef<ValueSharding> shardings, mlir::TypeRange types)>;

/// Makes the exchanged dimensions that are cut whole while the op runs: their
/// axes cut another dimension meanwhile, or the operands are gathered,
/// whichever moves fewer bytes. The results lie as they must afterwards.
/// `operands` are what this rank holds.
llvm::LogicalResult convertMoved(Partitioner &p, mlir::Operation *op,
                                 llvm::SmallVector<mlir::Value> operands,
                                 BuildMoved build);
/// The same for an op that is copied.
llvm::LogicalResult convertMovedByCopy(Partitioner &p, mlir::Operation *op);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H
