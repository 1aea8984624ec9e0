//===- Settle.h - shardings and reshards in the IR --------------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_SETTLE_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_SETTLE_H

#include "PartialPlan.h"

namespace pipemesh {

/// Writes what was found into the IR: each op's operands become what its rule
/// needs, by a pm.reshard where they are not, and its results are what it makes
/// of them.
class Settle {
public:
  Settle(Graph &graph, Sweep &sweep, const PartialPlan &plan)
      : graph(graph), sweep(sweep), plan(plan),
        name(mlir::StringAttr::get(graph.function.getContext(),
                                   pm::kShardingsAttr)) {}

  mlir::LogicalResult run();

private:
  /// How a value is to lie.
  struct Target {
    llvm::SmallVector<CutId, 6> dims;
    AxisMask partial = 0;
    pm::ReductionKind kind = pm::ReductionKind::Sum;
  };

  mlir::LogicalResult settleGroups();
  void settleArguments();
  void settleNode(uint32_t node);
  void settleOp(uint32_t node);
  void settleManual(const GraphNode &node);
  void settleReturn(const GraphNode &node);
  /// Gives region ops the attributes of their results.
  void finishRegionOps();

  Target targetOf(ValueId value) const;
  bool isSo(ValueId value, const Target &target) const;
  pm::ShardingAttr attrOf(const Target &target);
  /// `value`, of number `id`, as the target says, in front of `user`; made once.
  mlir::Value reshard(mlir::Value value, ValueId id, const Target &target,
                      mlir::Operation *user);
  void setOperand(const GraphNode &node, unsigned index, const Target &target);
  /// The sharding of a result, and what stands for it after.
  void define(mlir::OpResult result, ValueId id, const Target &given);
  void setShardings(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> list);

  Graph &graph;
  Sweep &sweep;
  const PartialPlan &plan;
  mlir::StringAttr name;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<
      std::pair<Target, pm::ShardingAttr>, 1>> attrs;
  llvm::DenseMap<mlir::Attribute, mlir::DictionaryAttr> dictionaries;
  /// What stands for (value, sharding), by the block where it does.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>,
                 llvm::SmallVector<std::pair<mlir::Block *, mlir::Value>, 1>>
      resharded;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_SETTLE_H
