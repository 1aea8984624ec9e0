//===- Graph.h - the values and ops of a function, numbered -----*- C++ -*-===//
//
// What propagation works on: values and ops have numbers, the dimensions of all
// values lie in one array. A value that a loop carries is one value, in its
// condition, its body and behind it.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_GRAPH_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_GRAPH_H

#include "Cuts.h"
#include "Factors.h"
#include "Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <set>

namespace pipemesh {

using ValueId = uint32_t;

struct GraphValue {
  /// What stands for it; a result with an annotation is resharded to it.
  mlir::Value value;
  uint32_t firstDim;
  uint32_t rank;
  double bytes;
  /// Annotated: uses see exactly this sharding.
  bool isBound = false;
  /// Joins what several places hand on: a loop's start and body, branches.
  bool isJoined = false;
  /// The nodes of the loop that carries it; none of what branches join.
  uint32_t firstInside = 0, lastInside = 0;
  /// Of a loop: zero at the start does not make it zero.
  bool isZero = false;
  /// May not be added to an open dimension.
  AxisMask replicated = 0;
  AxisMask partial = 0;
  pm::ReductionKind kind = pm::ReductionKind::Sum;
};

enum class NodeKind : uint8_t {
  Op,        ///< by its rule
  Constrain, ///< the result is what the op says
  Reshard,   ///< so are both sides
  Join,      ///< the operand becomes the (joined) result
  ManualIn,  ///< an operand of a manual computation becomes its argument
  ManualOut, ///< what it gives becomes its result
  Group,     ///< the operands lie alike
  Whole,     ///< the operands must be whole: conditions, indices
  Return     ///< the end of the function
};

struct GraphNode {
  mlir::Operation *op;
  const RuleInfo *rule;
  uint32_t firstOperand, numOperands;
  uint32_t firstResult, numResults;
  /// The manual axes around the op.
  AxisMask forbidden;
  NodeKind kind;
  /// Of ManualIn and ManualOut: the operand or result number.
  uint32_t number = 0;
};

class Graph {
public:
  Graph(mlir::func::FuncOp function, CutTable &cuts, RuleTable &rules)
      : function(function), cuts(cuts), rules(rules) {}

  /// Numbers everything and reads the annotations.
  mlir::LogicalResult build();

  llvm::ArrayRef<ValueId> operandsOf(const GraphNode &node) const {
    return llvm::ArrayRef<ValueId>(operandIds)
        .slice(node.firstOperand, node.numOperands);
  }
  llvm::ArrayRef<ValueId> resultsOf(const GraphNode &node) const {
    return llvm::ArrayRef<ValueId>(resultIds)
        .slice(node.firstResult, node.numResults);
  }
  /// The nodes that have the value as an operand or a result, once each.
  llvm::ArrayRef<uint32_t> nodesOf(ValueId value) const {
    return llvm::ArrayRef<uint32_t>(nodeLists)
        .slice(firstNode[value], firstNode[value + 1] - firstNode[value]);
  }
  llvm::MutableArrayRef<CutId> dimsOf(ValueId value) {
    return llvm::MutableArrayRef<CutId>(dims).slice(values[value].firstDim,
                                                    values[value].rank);
  }
  llvm::ArrayRef<CutId> dimsOf(ValueId value) const {
    return llvm::ArrayRef<CutId>(dims).slice(values[value].firstDim,
                                             values[value].rank);
  }
  ValueId idOf(mlir::Value value) const { return ids.lookup(value); }
  /// The manual axes of the computation of a ManualIn or ManualOut.
  AxisMask manualAxes(const GraphNode &node) const;
  /// The manual axes that cut each dimension of an operand of a manual
  /// computation (or of a result).
  llvm::SmallVector<CutId> manualPrefix(const GraphNode &node);
  pm::ShardingAttr manualSharding(const GraphNode &node) const;

  mlir::func::FuncOp function;
  CutTable &cuts;
  RuleTable &rules;
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::vector<CutId> dims;
  /// Whether a dimension is closed: it is what the annotation says.
  std::vector<char> closed;
  std::vector<ValueId> operandIds, resultIds;
  /// Where an operand is; null for what a region takes from outside.
  std::vector<mlir::OpOperand *> slots;
  /// Dimensions of annotations with priorities, empty until their turn.
  struct Waiting {
    ValueId value;
    llvm::SmallVector<CutId> given;
    llvm::SmallVector<int64_t> priorities;
  };
  std::vector<Waiting> waiting;
  std::set<int64_t> priorities{0};

private:
  mlir::LogicalResult visitBlock(mlir::Block &block, AxisMask forbidden);
  mlir::LogicalResult visitOp(mlir::Operation &op, AxisMask forbidden);
  mlir::LogicalResult visitWhile(mlir::Operation &op, AxisMask forbidden);
  mlir::LogicalResult visitBranches(mlir::Operation &op, AxisMask forbidden);
  mlir::LogicalResult visitManual(pm::ManualComputationOp op,
                                  AxisMask forbidden);
  mlir::LogicalResult addValue(mlir::Value value, pm::ShardingAttr given,
                               bool isClosed, ValueId &id);
  mlir::LogicalResult addResults(mlir::Operation &op);
  mlir::LogicalResult checkAxes(mlir::Location loc, pm::ShardingAttr sharding);
  mlir::LogicalResult readArguments();
  void readResults();
  GraphNode &addNode(NodeKind kind, mlir::Operation *op, const RuleInfo &rule,
                     llvm::ArrayRef<mlir::OpOperand *> operands,
                     llvm::ArrayRef<ValueId> results, AxisMask forbidden);
  GraphNode &addOpNode(mlir::Operation &op, AxisMask forbidden);
  void listNodes();

  llvm::DenseMap<mlir::Value, ValueId> ids;
  std::map<int64_t, llvm::SmallVector<mlir::OpOperand *>> groups;
  std::vector<uint32_t> firstNode, nodeLists;
  mlir::StringAttr shardingsName;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_GRAPH_H
