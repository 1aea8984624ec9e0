//===- Reshard.h - the cheapest way between two shardings -------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_RESHARD_H
#define PIPEMESH_LIB_SHARD_RESHARD_H

#include "ReshardSearch.h"
#include "ShardingAlgebra.h"
#include <string>

namespace pipemesh {

/// One step of a reshard.
struct ReshardStep {
  StepKind kind;
  /// Of all but a slice and a permute major to minor: a reduce-scatter puts them
  /// behind the axes that the dimension has, an all-gather takes them off its
  /// end, and an all-to-all moves them from one end to another. Those of a
  /// permute and an exchange are in mesh order.
  Axes axes;
  /// The dimension that is cut or joined; of an all-to-all the joined one.
  unsigned dim = 0;
  /// The dimension that an all-to-all cuts.
  unsigned split = 0;
  ValueSharding after;
  /// What a rank holds after it.
  llvm::SmallVector<int64_t, 4> shape;
  /// Bytes that a rank sends, and how long that takes.
  double bytes = 0, seconds = 0;
  /// Of an exchange.
  std::shared_ptr<const reshard::Pieces> pieces;
};

using ReshardSteps = llvm::SmallVector<ReshardStep, 2>;

/// The cheapest steps from `source` to `target`, which hold the axes that cut
/// here, of more than one member: {slice, all-reduce, reduce-scatter,
/// all-gather, all-to-all, permute}, or all in one exchange of pieces. A step costs the bytes that a rank sends over
/// the bandwidth of the slowest axis, and the latency. Where only the whole
/// value leads there, it is gathered. On failure `error` says what has no way.
/// `without` has a bit for each kind of step that is not taken.
mlir::FailureOr<ReshardSteps> findReshard(mlir::RankedTensorType global,
                                          const ValueSharding &source,
                                          const ValueSharding &target,
                                          const MeshAxes &mesh,
                                          std::string &error,
                                          uint32_t without = 0);

/// The sum of the steps' seconds.
double secondsOf(llvm::ArrayRef<ReshardStep> steps);

/// What it finds for a type and two shardings, found once.
class Reshards {
public:
  explicit Reshards(const MeshAxes &mesh) : mesh(mesh) {}

  mlir::FailureOr<const ReshardSteps *> find(mlir::RankedTensorType global,
                                             const ValueSharding &source,
                                             const ValueSharding &target,
                                             std::string &error);

private:
  const MeshAxes &mesh;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>,
                 std::unique_ptr<ReshardSteps>>
      known;
};

/// From which member each member of a permute gets its block, -1 where it needs
/// none: the members differ on `axes`, the first of which is the outermost.
llvm::SmallVector<int64_t>
findPermuteSources(mlir::RankedTensorType global, const ValueSharding &before,
                   const ValueSharding &after,
                   llvm::ArrayRef<mlir::StringAttr> axes, const MeshAxes &mesh);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_RESHARD_H
