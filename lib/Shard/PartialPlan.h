//===- PartialPlan.h - where partial values are made whole ------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PARTIALPLAN_H
#define PIPEMESH_LIB_SHARD_PARTIALPLAN_H

#include "ShardingAlgebra.h"

namespace pipemesh {

/// Decides for each value and axis over which it is partial whether it is made
/// whole at once or flows on, by the bytes that are moved in a step.
///
/// A value that flows costs what its users' results cost to reduce, at best.
/// Where several partial values are added, a value joins for nothing if another
/// one has to be reduced behind the sum anyhow, and bears its share otherwise.
/// A value that some use needs whole is whole for all of them. One that is
/// partial over a temporal axis waits for the other micro-batches anyhow and
/// flows.
///
/// Prices are found from the last op to the first, assuming at first that
/// everything flows that can. What turns out to be reduced no longer flows, and
/// the prices are found again, until nothing changes.
class PartialPlan {
public:
  explicit PartialPlan(const MeshAxes &mesh) : mesh(mesh) {}

  /// An argument, or a result whose uses see an annotation.
  void fix(mlir::Value value, const ValueSharding &sharding);
  /// The next op. `rule` is null for a pm.reshard or pm.constrain, whose result
  /// is fixed. Dimensions are those that propagation has found.
  void add(mlir::Operation *op, const ShardingRule *rule, FactorAxes factors,
           llvm::ArrayRef<const ValueSharding *> results);
  void solve();

  bool isReduced(mlir::Value value, mlir::StringAttr axis) const;

private:
  using Prices = llvm::SmallDenseMap<mlir::StringAttr, double, 2>;
  struct Info {
    ValueSharding sharding;
    bool fixed = false;
    Axes reduced;
    /// The least price at which the value's parts can be made whole, at it or
    /// in front of it; and at it or behind it.
    Prices before, after;
  };
  struct Node {
    mlir::Operation *op;
    const ShardingRule *rule;
    FactorAxes factors;
    /// Over which axes each operand flows through.
    llvm::SmallVector<Axes> flows;
  };

  void spread();
  bool price(mlir::Value value);
  double priceOfUse(mlir::Operation *user, mlir::Value value,
                    mlir::StringAttr axis);
  /// The bytes that reducing the value over these axes moves in a step, with a
  /// constant for each collective.
  double wire(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// What the axis adds to reducing the value over its other spatial axes.
  double added(mlir::Value value, mlir::StringAttr axis) const;
  bool isPartial(mlir::Value value, mlir::StringAttr axis) const;

  const MeshAxes &mesh;
  std::vector<Node> nodes;
  std::vector<mlir::Value> arguments;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::DenseMap<mlir::Value, Info> infos;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PARTIALPLAN_H
