//===- MovedOps.h - ops whose elements move along dimensions ----*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H
#define PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H

#include "RowExchange.h"

namespace pipemesh {

/// An op on this rank, as far as exchanges of rows have not done it.
struct MovedOp {
  /// What the rank holds of the operands, and how they lie. An exchange leaves
  /// one operand, which lies like the result.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<ValueSharding> shardings;
  llvm::SmallVector<mlir::Type> types;
  /// The dimensions of the result along which the op is done.
  llvm::SmallBitVector done;
};

/// Builds an op on operands that lie as they are told to, with results of the
/// given types.
using BuildMoved = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    const MovedOp &moved)>;

/// What of an op is static: then rows can be exchanged instead of blocks.
struct StaticMoves {
  /// The operands whose rows the result consists of, the first ones of the op.
  unsigned operands = 0;
  /// The rows of the result along a dimension.
  llvm::function_ref<std::vector<SourceRow>(unsigned dim)> rows;
  /// A scalar for `SourceRow::Fill`.
  mlir::Value fill;
  /// The only operand with the op done along dimensions that are not cut, and
  /// its global type; null where that is nothing.
  mlir::Value narrow;
  mlir::RankedTensorType narrowType;
  llvm::SmallBitVector narrowed;
};

/// Makes the exchanged dimensions that are cut whole while the op runs: their
/// axes cut another dimension meanwhile, or the operands are gathered, or only
/// rows that change owner move, whichever takes the shortest. The results lie as
/// they must afterwards. `operands` are what this rank holds where it is not what
/// the partitioner knows of them.
llvm::LogicalResult convertMoved(Partitioner &p, mlir::Operation *op,
                                 llvm::SmallVector<mlir::Value> operands,
                                 BuildMoved build,
                                 const StaticMoves *moves = nullptr);
/// The same for an op that is copied.
llvm::LogicalResult convertMovedByCopy(Partitioner &p, mlir::Operation *op);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTITION_MOVEDOPS_H
