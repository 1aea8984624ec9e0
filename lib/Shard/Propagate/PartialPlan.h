//===- PartialPlan.h - where partial values are made whole ------*- C++ -*-===//

#ifndef PIPEMESH_LIB_SHARD_PROPAGATE_PARTIALPLAN_H
#define PIPEMESH_LIB_SHARD_PROPAGATE_PARTIALPLAN_H

#include "Sweep.h"

namespace pipemesh {

/// What of a rule matters for partial values, under given factors.
struct PartialFlow {
  /// The axes over which partial operands flow through.
  AxisMask flows = 0;
  pm::ReductionKind kind = pm::ReductionKind::Sum;
  /// The axes over which each result is partial because a factor is summed.
  llvm::SmallVector<AxisMask, 2> made;
};

/// Over which axes partial values go through an op. `partial` tells over which
/// each operand is, `zero` whether it is zero, which counts as partial over
/// anything; values of another kind than sums are not in `sums`. `blocked` are
/// axes that may not.
PartialFlow flowThrough(const RuleInfo &rule, const CutTable &cuts,
                        llvm::ArrayRef<CutId> factors,
                        llvm::ArrayRef<AxisMask> partial,
                        llvm::ArrayRef<bool> zero, llvm::ArrayRef<bool> sums,
                        AxisMask blocked);

/// Decides, for every value that may be partial over an axis, whether it is made
/// whole where it is computed, or flows on through the ops that are linear in
/// it, by what a step moves.
///
/// Each value gets a price: what must be spent over its axis at it and behind it.
/// That is the price of reducing it, or the prices of its users' results if it
/// flows on, whichever is less. Prices are found from the last op to the first.
/// Values that are added to each other share the price of the sum; if one of
/// them has to be reduced behind the sum in any case, the others join for what
/// that adds.
///
/// The first prices assume that all flows that can, through the carried values of
/// loops too. What turns out to be reduced no longer flows, and the prices are
/// found again, until nothing changes.
class PartialPlan {
public:
  PartialPlan(Graph &graph, Sweep &sweep);
  void solve();

  /// Over which axes the value is whole where the node uses it.
  AxisMask reducedFor(ValueId value, uint32_t node) const {
    const GraphValue &info = graph.values[value];
    bool isInside = node >= info.firstInside && node < info.lastInside;
    return infos[value].reduced | (isInside ? 0 : infos[value].reducedBehind);
  }
  /// Over which it is partial where it is defined, unless the op says otherwise.
  AxisMask partialOf(ValueId value) const { return infos[value].partial; }
  pm::ReductionKind kindOf(ValueId value) const { return infos[value].kind; }

private:
  using Prices = llvm::SmallVector<std::pair<uint8_t, double>, 0>;
  struct Info {
    AxisMask partial = 0, reduced = 0;
    /// Of a joined value: made whole behind the loop or the branches, and not
    /// in front of what joins it.
    AxisMask reducedBehind = 0;
    /// Partial because some sum made it so, and not only zero.
    AxisMask grounded = 0;
    pm::ReductionKind kind = pm::ReductionKind::Sum;
    double localBytes = 0, runs = 1;
    /// The least price at which the value's parts can be made whole, at it or
    /// in front of it; and at it or behind it.
    Prices before, after;
  };

  static double lookup(const Prices &prices, unsigned axis);
  llvm::ArrayRef<CutId> factorsOf(uint32_t node) const {
    return llvm::ArrayRef<CutId>(factors).slice(
        firstFactor[node], firstFactor[node + 1] - firstFactor[node]);
  }
  void findFlows();
  void findFlowsOf(uint32_t node);
  bool joinFlows();
  void findGrounded();
  void priceBefore(uint32_t node);
  bool price(ValueId value);
  double priceOfUse(uint32_t node, ValueId value, unsigned axis);
  /// The bytes that reducing the value over these axes moves in a step, with a
  /// constant for each collective.
  double wire(ValueId value, AxisMask axes) const;
  /// What the axis adds to reducing the value over its other axes.
  double added(ValueId value, unsigned axis) const;

  Graph &graph;
  std::vector<CutId> factors;
  std::vector<uint32_t> firstFactor;
  std::vector<Info> infos;
  /// Over which axes each operand flows through its node, by operand place.
  std::vector<AxisMask> flows;
  /// Nodes that any partial value touches, and the joined values.
  std::vector<uint32_t> touched;
  std::vector<ValueId> joined;
};

} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_PROPAGATE_PARTIALPLAN_H
