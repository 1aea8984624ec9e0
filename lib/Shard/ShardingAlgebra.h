//===- ShardingAlgebra.h - shardings under an op's rule ---------*- C++ -*-===//
//
// Shardings as plain data, and the two questions that propagation and the
// verifier ask of a rule: which axes cut which factor, and what operands and
// results are then.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H
#define PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H

#include "pipemesh/Dialect/PM/PM.h"
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

/// The axes that cut each factor of a rule, major to minor.
using FactorAxes = llvm::SmallVector<Axes>;

/// Chooses the axes of each factor from the dimensions of the op's operands
/// and results. Where they disagree, one in time wins, then the choice of the
/// values with the most bytes, then the first; an axis cuts one factor only, and one that a
/// value could not express (the minor factor of a merged dimension whose major
/// one is not wholly cut, a size that does not divide a merged dimension or one
/// that micro-batches cut) cuts none. Factors keep the axes of `bound`, if it is
/// not empty, and are only extended.
FactorAxes chooseFactorAxes(mlir::Operation *op, const ShardingRule &rule,
                            const MeshAxes &mesh,
                            llvm::ArrayRef<const ValueSharding *> operands,
                            llvm::ArrayRef<const ValueSharding *> results,
                            const FactorAxes &bound = {});

/// The dimensions of a value whose factors are cut like this.
llvm::SmallVector<DimCut> dimsOfFactors(llvm::ArrayRef<DimFactors> dims,
                                      const ShardingRule &rule,
                                      const FactorAxes &factors,
                                      const MeshAxes &mesh);

/// What an op needs of its operands and makes of its results.
struct OpShardings {
  llvm::SmallVector<ValueSharding> operands;
  llvm::SmallVector<ValueSharding> results;
};

/// Given the axes of the factors and the operands as they are, tells what they
/// must be. Partial values flow where the op is linear, except over the axes
/// for which `isBlocked` says of an operand that it is made whole.
OpShardings inferOpShardings(
    mlir::Operation *op, const ShardingRule &rule, const FactorAxes &factors,
    const MeshAxes &mesh, llvm::ArrayRef<const ValueSharding *> operands,
    llvm::function_ref<bool(unsigned, mlir::StringAttr)> isBlocked);

/// The rule of an op, or one that replicates everything; `hasRule` tells which.
ShardingRule getRule(mlir::Operation *op, bool &hasRule);

/// Whether the value is zero in every element, as constants tell.
bool isKnownZero(mlir::Value value);

/// Bytes of a statically shaped tensor.
int64_t byteSizeOf(mlir::Type type);

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_SHARDINGALGEBRA_H
