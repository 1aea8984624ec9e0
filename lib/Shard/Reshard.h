//===- Reshard.h - the cheapest way between two shardings -------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_RESHARD_H
#define PIPEMESH_LIB_SHARD_RESHARD_H

#include "ShardingAlgebra.h"
#include <string>

namespace pipemesh {

/// One step of a reshard.
struct ReshardStep {
  enum Kind { Slice, AllReduce, ReduceScatter, AllGather } kind;
  /// Major to minor. A slice and a reduce-scatter put them behind the axes that
  /// the dimension has, an all-gather takes them off its end.
  Axes axes;
  /// Of all but an all-reduce.
  unsigned dim = 0;
};

/// The cheapest steps from `source` to `target`, which hold the axes that cut
/// here, of more than one member. The price of a step is the bytes that a rank
/// sends, and a constant for each collective. On failure `error` says what has
/// no way.
mlir::FailureOr<llvm::SmallVector<ReshardStep>>
findReshard(mlir::RankedTensorType global, const ValueSharding &source,
            const ValueSharding &target, const MeshAxes &mesh,
            std::string &error);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_RESHARD_H
