//===- PartialPlan.cpp - where partial values are made whole --------------===//

#include "PartialPlan.h"
#include "pipemesh/Shard/SeededFaults.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

static constexpr double kNever = std::numeric_limits<double>::infinity();

PartialFlow pipemesh::flowThrough(const RuleInfo &rule, const CutTable &cuts,
                                  ArrayRef<CutId> factors,
                                  ArrayRef<AxisMask> partial,
                                  ArrayRef<bool> zero, ArrayRef<bool> sums,
                                  AxisMask blocked) {
  PartialFlow flow;
  flow.made.assign(rule.numResults, 0);
  AxisMask used = 0, any = 0, notSums = 0;
  for (auto [number, factor] : llvm::enumerate(rule.rule.factors)) {
    AxisMask mask = cuts[factors[number]].mask;
    used |= mask;
    if (!mask || factor.kind != FactorKind::Reduction)
      continue;
    flow.kind = static_cast<pm::ReductionKind>(factor.reduction);
    for (unsigned result = 0; result < rule.numResults; ++result)
      if (!rule.resultHas(result, number))
        flow.made[result] |= mask;
  }
  for (unsigned index = 0; index < rule.numOperands; ++index) {
    any |= partial[index];
    if (!sums[index])
      notSums |= partial[index];
  }
  any &= ~(used | blocked | notSums);
  if (!any || flow.kind != pm::ReductionKind::Sum)
    return flow;
  if (isSeeded(Fault::PartialNonlinear)) {
    flow.flows = any;
    return flow;
  }
  // The operands that are partial are exactly those of one linear set.
  for (ArrayRef<unsigned> set : rule.rule.linearSets) {
    AxisMask allowed = any;
    for (unsigned index = 0; index < rule.numOperands; ++index)
      if (!llvm::is_contained(set, index))
        allowed &= ~partial[index];
      else if (!zero[index] && !isSeeded(Fault::PartialProduct))
        allowed &= partial[index];
    flow.flows |= allowed;
  }
  return flow;
}

PartialPlan::PartialPlan(Graph &graph, Sweep &sweep) : graph(graph) {
  SmallVector<CutId, 8> found;
  firstFactor.reserve(graph.nodes.size() + 1);
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    firstFactor.push_back(factors.size());
    NodeKind kind = graph.nodes[node].kind;
    if (kind != NodeKind::Op && kind != NodeKind::Join)
      continue;
    sweep.factorsOf(node, found);
    factors.insert(factors.end(), found.begin(), found.end());
  }
  firstFactor.push_back(factors.size());
  flows.assign(graph.operandIds.size(), 0);
  infos.resize(graph.values.size());
  for (ValueId id = 0; id < infos.size(); ++id) {
    Info &info = infos[id];
    const GraphValue &value = graph.values[id];
    info.kind = value.kind;
    info.localBytes = value.bytes;
    if (value.isBound)
      info.partial = value.partial;
    else if (value.isJoined)
      joined.push_back(id);
    for (CutId cut : graph.dimsOf(id)) {
      info.localBytes /= graph.cuts[cut].pieces;
      info.runs *= graph.cuts.productOf(graph.cuts[cut].mask &
                                        graph.cuts.temporal());
    }
    // Each micro-batch has its bytes.
    info.localBytes *= info.runs;
  }
}

//===----------------------------------------------------------------------===//
// Flows
//===----------------------------------------------------------------------===//

void PartialPlan::findFlowsOf(uint32_t number) {
  const GraphNode &node = graph.nodes[number];
  ArrayRef<ValueId> operands = graph.operandsOf(node);
  MutableArrayRef<AxisMask> own(flows.data() + node.firstOperand,
                                node.numOperands);
  // What flows on into a given sharding: parts of a maximum are none of a sum.
  auto flowInto = [&](unsigned index, pm::ShardingAttr given) {
    const Info &info = infos[operands[index]];
    own[index] = !info.partial || info.kind == given.getPartialKind()
                     ? graph.cuts.maskOf(given.getPartialAxes())
                     : 0;
  };
  switch (node.kind) {
  case NodeKind::Whole:
  case NodeKind::Group:
    return;
  case NodeKind::Return:
    for (unsigned index = 0; index < own.size(); ++index)
      if (auto given = graph.function.getResultAttrOfType<pm::ShardingAttr>(
              index, pm::kShardingAttr))
        flowInto(index, given);
    return;
  case NodeKind::Constrain:
    flowInto(0, cast<pm::ConstrainOp>(node.op).getSharding());
    return;
  case NodeKind::Reshard:
    flowInto(0, cast<pm::ReshardOp>(node.op).getSource());
    return;
  case NodeKind::ManualIn:
  case NodeKind::ManualOut:
    flowInto(0, graph.manualSharding(node));
    return;
  case NodeKind::Join: {
    // What the joined value is partial over, all places must give.
    ValueId result = graph.resultsOf(node)[0];
    own[0] = infos[operands[0]].partial & infos[result].partial &
             ~reducedFor(operands[0], number);
    return;
  }
  case NodeKind::Op:
    break;
  }
  const RuleInfo &rule = *node.rule;
  SmallVector<AxisMask, 8> partial;
  SmallVector<bool, 8> zero, sums;
  AxisMask blocked = 0;
  for (unsigned index = 0; index < rule.numOperands; ++index) {
    const Info &info = infos[operands[index]];
    partial.push_back(info.partial);
    zero.push_back(graph.values[operands[index]].isZero);
    sums.push_back(info.kind == pm::ReductionKind::Sum);
    blocked |= info.partial & reducedFor(operands[index], number);
  }
  PartialFlow flow = flowThrough(rule, graph.cuts, factorsOf(number), partial,
                                 zero, sums, blocked);
  // What a region takes from outside is whole.
  for (unsigned index = 0; index < rule.numOperands; ++index)
    own[index] = infos[operands[index]].partial & flow.flows;
  for (auto [index, id] : llvm::enumerate(graph.resultsOf(node))) {
    Info &info = infos[id];
    if (graph.values[id].isBound)
      continue;
    info.partial = flow.made[index] | flow.flows;
    info.kind = flow.kind;
  }
}

/// Takes from the joined values what not all of their places give.
bool PartialPlan::joinFlows() {
  bool changed = false;
  for (ValueId id : joined) {
    Info &info = infos[id];
    AxisMask all = info.partial & ~info.reduced;
    for (uint32_t number : graph.nodesOf(id)) {
      const GraphNode &node = graph.nodes[number];
      if (node.kind != NodeKind::Join || graph.resultsOf(node)[0] != id)
        continue;
      ValueId from = graph.operandsOf(node)[0];
      const Info &source = infos[from];
      if (graph.values[from].isZero)
        continue;
      all &= source.kind == pm::ReductionKind::Sum
                 ? source.partial & ~reducedFor(from, number)
                 : 0;
    }
    changed |= all != info.partial;
    info.partial = all;
  }
  return changed;
}

/// A loop that carries zeros alone is not partial.
void PartialPlan::findGrounded() {
  for (ValueId id = 0; id < infos.size(); ++id)
    infos[id].grounded = graph.values[id].isBound ? infos[id].partial : 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t number : touched) {
      const GraphNode &node = graph.nodes[number];
      if (node.kind != NodeKind::Op && node.kind != NodeKind::Join)
        continue;
      AxisMask from = 0;
      for (auto [index, id] : llvm::enumerate(graph.operandsOf(node)))
        from |= infos[id].grounded & flows[node.firstOperand + index];
      for (auto [index, id] : llvm::enumerate(graph.resultsOf(node))) {
        AxisMask own = from;
        if (node.kind == NodeKind::Op)
          for (auto [factor, cut] : llvm::enumerate(factorsOf(number)))
            if (cut &&
                node.rule->rule.factors[factor].kind == FactorKind::Reduction &&
                !node.rule->resultHas(index, factor))
              own |= graph.cuts[cut].mask;
        own &= infos[id].partial & ~infos[id].grounded;
        infos[id].grounded |= own;
        changed |= own != 0;
      }
    }
  }
}

void PartialPlan::findFlows() {
  for (uint32_t node : touched)
    findFlowsOf(node);
  if (joined.empty())
    return;
  while (joinFlows())
    for (uint32_t node : touched)
      findFlowsOf(node);
  findGrounded();
  bool changed = false;
  for (ValueId id : joined) {
    changed |= infos[id].partial & ~infos[id].grounded;
    infos[id].partial &= infos[id].grounded;
  }
  while (changed) {
    for (uint32_t node : touched)
      findFlowsOf(node);
    changed = joinFlows();
  }
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

double PartialPlan::lookup(const Prices &prices, unsigned axis) {
  for (auto [own, price] : prices)
    if (own == axis)
      return price;
  return 0;
}

double PartialPlan::wire(ValueId value, AxisMask axes) const {
  double ranks = 1;
  // The plan is the same for one rank as for two.
  axes &= ~graph.cuts.temporal();
  forEachAxis(axes, [&](unsigned axis) {
    ranks *= std::max<int64_t>(2, graph.cuts.sizeOf(axis));
  });
  if (ranks == 1)
    return 0;
  const Info &info = infos[value];
  return 2 * (ranks - 1) / ranks * info.localBytes *
             graph.cuts.byteCostOf(axes) +
         info.runs * graph.cuts.latencyOf(axes);
}

double PartialPlan::added(ValueId value, unsigned axis) const {
  AxisMask bit = AxisMask(1) << axis, all = infos[value].partial;
  if (bit & graph.cuts.temporal())
    return 0;
  return wire(value, all) - wire(value, all & ~bit);
}

/// The price of each result up to here.
void PartialPlan::priceBefore(uint32_t number) {
  const GraphNode &node = graph.nodes[number];
  for (ValueId id : graph.resultsOf(node)) {
    Info &info = infos[id];
    info.before.clear();
    forEachAxis(info.partial, [&](unsigned axis) {
      double here = added(id, axis), before = kNever;
      if (node.kind == NodeKind::Op)
        for (auto [index, operand] : llvm::enumerate(graph.operandsOf(node)))
          if (flows[node.firstOperand + index] >> axis & 1)
            before = (before == kNever ? 0 : before) +
                     lookup(infos[operand].before, axis);
      info.before.emplace_back(axis, std::min(here, before));
    });
  }
}

double PartialPlan::priceOfUse(uint32_t number, ValueId value, unsigned axis) {
  const GraphNode &node = graph.nodes[number];
  if (node.kind == NodeKind::Group)
    return 0;
  SmallVector<ValueId, 4> addends;
  bool isUnavoidable = false, isUsed = false;
  double results = 0, atResults = 0, other = 0;
  for (ValueId result : graph.resultsOf(node))
    if (infos[result].partial >> axis & 1) {
      results += lookup(infos[result].after, axis);
      atResults += added(result, axis);
    }
  for (auto [index, operand] : llvm::enumerate(graph.operandsOf(node))) {
    bool isFlowing = flows[node.firstOperand + index] >> axis & 1;
    isUsed |= operand == value;
    if (operand == value && !isFlowing)
      return kNever;
    if (!isFlowing || !(infos[operand].partial >> axis & 1))
      continue;
    if (!llvm::is_contained(addends, operand))
      addends.push_back(operand);
    if (operand != value && lookup(infos[operand].before, axis) >= atResults) {
      isUnavoidable = true;
      other = std::max(other, wire(operand, AxisMask(1) << axis));
    }
  }
  if (!isUsed || node.kind != NodeKind::Op)
    return node.kind == NodeKind::Join && isUsed ? results : 0;
  // Without this value the other one would be reduced by itself, in front.
  if (isUnavoidable)
    return std::min(0.0, atResults - other);
  return results / std::max<size_t>(1, addends.size());
}

/// Prices a value whose users are priced; returns whether it turned out to be
/// reduced over another axis.
bool PartialPlan::price(ValueId value) {
  Info &info = infos[value];
  info.after.clear();
  bool waits = info.partial & graph.cuts.temporal() & ~info.reduced;
  bool changed = false;
  const GraphValue &own = graph.values[value];
  bool isJoined = own.isJoined && !own.isBound;
  forEachAxis(info.partial, [&](unsigned axis) {
    double here = added(value, axis), flowing = 0, inside = 0;
    for (uint32_t node : graph.nodesOf(value)) {
      bool isInside = node >= own.firstInside && node < own.lastInside;
      (isInside ? inside : flowing) += priceOfUse(node, value, axis);
    }
    info.after.emplace_back(axis, std::min(here, flowing + inside));
    AxisMask bit = AxisMask(1) << axis;
    auto reduce = [&](AxisMask &mask, double price, double limit) {
      if ((price == kNever || (!waits && price > limit)) && !(mask & bit)) {
        mask |= bit;
        changed = true;
      }
    };
    reduce(isJoined ? info.reducedBehind : info.reduced, flowing, here);
    // One share of this is the carried value itself.
    reduce(info.reduced, inside, 2 * here);
  });
  return changed;
}

void PartialPlan::solve() {
  const AxisMask all = graph.cuts.mesh().all().size() < 64
                           ? (AxisMask(1) << graph.cuts.mesh().all().size()) - 1
                           : ~AxisMask(0);
  // An axis that cuts a value does not sum it.
  auto mayBe = [&](ValueId id) {
    AxisMask cut = 0;
    for (CutId dim : graph.dimsOf(id))
      cut |= graph.cuts[dim].mask;
    return all & ~cut;
  };
  for (ValueId id : joined)
    infos[id].partial = mayBe(id);
  // All that may ever be partial is found by the first round.
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    findFlowsOf(node);
    auto isPartial = [&](ValueId id) { return infos[id].partial != 0; };
    if (llvm::any_of(graph.operandsOf(graph.nodes[node]), isPartial) ||
        llvm::any_of(graph.resultsOf(graph.nodes[node]), isPartial))
      touched.push_back(node);
  }
  std::vector<ValueId> arguments;
  for (ValueId id = 0; id < infos.size(); ++id)
    if (infos[id].partial && isa<BlockArgument>(graph.values[id].value))
      arguments.push_back(id);
  for (bool changed = true; changed;) {
    changed = false;
    for (ValueId id : joined)
      infos[id].partial = mayBe(id) & ~infos[id].reduced;
    findFlows();
    for (ValueId id : arguments) {
      infos[id].before.clear();
      forEachAxis(infos[id].partial, [&](unsigned axis) {
        infos[id].before.emplace_back(axis, added(id, axis));
      });
    }
    for (uint32_t node : touched)
      priceBefore(node);
    for (uint32_t node : llvm::reverse(touched))
      for (ValueId id : graph.resultsOf(graph.nodes[node]))
        if (infos[id].partial)
          changed |= price(id);
    for (ValueId id : arguments)
      changed |= price(id);
  }
}
