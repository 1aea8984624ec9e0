//===- Sweep.h - axes move through the ops until nothing changes -*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_SWEEP_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_SWEEP_H

#include "Graph.h"
#include "llvm/ADT/BitVector.h"

namespace pipemesh {

/// How an op is to be computed: the cuts of its factors, which the sweep keeps and
/// begins with.
struct Wish {
  uint32_t node;
  llvm::SmallVector<CutId, 4> factors;
};

/// Finds the cut of every dimension. Ops are visited in order, forward and then
/// backward, and only those that have a value whose sharding changed.
class Sweep {
public:
  explicit Sweep(Graph &graph, llvm::ArrayRef<Wish> wishes = {})
      : graph(graph), chooser(graph.cuts), wishes(wishes) {}

  void run();

  /// The cut of each factor of an op, as its values are now.
  void factorsOf(uint32_t node, llvm::SmallVectorImpl<CutId> &factors,
                 llvm::SmallVectorImpl<AxisSplit> *splits = nullptr);
  /// The axes that ops would use in parts, in the order of the ops.
  llvm::SmallVector<AxisSplit> findSplits();
  /// `inner` within the manual cut of a dimension; none where that would not be
  /// equal pieces.
  std::optional<CutId> join(CutId prefix, CutId inner, int64_t innerSize);

  FactorChooser &getChooser() { return chooser; }

private:
  void reveal(int64_t priority);
  void visit(uint32_t node);
  void visitManual(const GraphNode &node);
  void extend(ValueId value, llvm::ArrayRef<CutId> wanted);
  CutId strip(CutId prefix, CutId cut);

  Graph &graph;
  FactorChooser chooser;
  llvm::ArrayRef<Wish> wishes;
  llvm::BitVector dirty;
  /// What annotations of earlier priorities have decided, for each node.
  std::vector<llvm::SmallVector<CutId, 4>> bound;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_SWEEP_H
