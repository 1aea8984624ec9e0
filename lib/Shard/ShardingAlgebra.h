//===- ShardingAlgebra.h - shardings as data --------------------*- C++ -*-===//
//
// Shardings as plain data, and the rule of an op.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H
#define PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Support/ByteSize.h"
#include "pipemesh/Support/Cluster.h"
#include "llvm/ADT/DenseMap.h"

namespace pipemesh {

using Axes = llvm::SmallVector<mlir::StringAttr, 2>;

/// The axes of a mesh, for fast lookup.
class MeshAxes {
public:
  explicit MeshAxes(pm::MeshOp mesh);
  int64_t sizeOf(mlir::StringAttr axis) const;
  bool isTemporal(mlir::StringAttr axis) const;
  /// A stage axis divides ops, not values.
  bool isStage(mlir::StringAttr axis) const;
  bool has(mlir::StringAttr axis) const { return info.count(axis); }
  /// Whether the links are known.
  bool hasLinks() const { return !links.empty(); }
  /// What connects the ranks that differ on the axis, as the module's
  /// `pm.cluster` tells.
  Link linkOf(mlir::StringAttr axis) const {
    auto found = links.find(axis);
    return found == links.end() ? Link::getDefault() : found->second;
  }
  /// In mesh order, outermost first.
  llvm::ArrayRef<mlir::StringAttr> all() const { return order; }
  mlir::FlatSymbolRefAttr symbol() const { return name; }

private:
  llvm::DenseMap<mlir::StringAttr, pm::MeshAxisAttr> info;
  llvm::DenseMap<mlir::StringAttr, Link> links;
  llvm::SmallVector<mlir::StringAttr> order;
  mlir::FlatSymbolRefAttr name;
};

/// How one dimension is cut. Member i of the axes, counted major to minor, has
/// the elements from `i * block` on; the last blocks are short or empty. A block
/// of 0 is the ceiling of the division, and the only form of it: 9 heads of 64
/// over 2 as 6 + 3 is a cut of 576 with block 384, while 288 is written 0.
struct DimCut {
  Axes axes;
  int64_t block = 0;

  bool operator==(const DimCut &other) const {
    return axes == other.axes && block == other.block;
  }
  bool operator!=(const DimCut &other) const { return !(*this == other); }
};

/// A sharding in parts. Priorities are not kept.
struct ValueSharding {
  llvm::SmallVector<DimCut> dims;
  /// In mesh order.
  Axes partial;
  pm::ReductionKind kind = pm::ReductionKind::Sum;

  ValueSharding() = default;
  explicit ValueSharding(int64_t rank) : dims(rank) {}
  explicit ValueSharding(pm::ShardingAttr attr);
  pm::ShardingAttr toAttr(const MeshAxes &mesh) const;
  bool operator==(const ValueSharding &other) const {
    return dims == other.dims && partial == other.partial &&
           (partial.empty() || kind == other.kind);
  }
  bool operator!=(const ValueSharding &other) const {
    return !(*this == other);
  }
};

/// The rule of an op, or one that replicates everything; `hasRule` tells which.
ShardingRule getRule(mlir::Operation *op, bool &hasRule);

/// Whether the value is zero in every element, as constants tell.
bool isKnownZero(mlir::Value value);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H
