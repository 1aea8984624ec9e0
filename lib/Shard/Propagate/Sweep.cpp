//===- Sweep.cpp - axes move through the ops until nothing changes --------===//

#include "Sweep.h"
#include "../Constraints.h"

using namespace mlir;
using namespace pipemesh;

/// Shows the dimensions of annotations whose turn it is.
void Sweep::reveal(int64_t priority) {
  for (Graph::Waiting &own : graph.waiting) {
    MutableArrayRef<CutId> dims = graph.dimsOf(own.value);
    // An open dimension may have taken an axis in the meantime.
    AxisMask taken = 0;
    for (auto [number, turn] : llvm::enumerate(own.priorities))
      if (turn < priority)
        taken |= graph.cuts[dims[number]].mask;
    for (auto [number, turn] : llvm::enumerate(own.priorities)) {
      if (turn < priority)
        continue;
      dims[number] = 0;
      if (turn > priority)
        continue;
      CutId given = own.given[number];
      if (graph.cuts[given].mask & taken) {
        SmallVector<uint8_t, 8> axes;
        for (uint8_t axis : graph.cuts[given].axes)
          if (!(taken >> axis & 1))
            axes.push_back(axis);
        given = graph.cuts.get(axes);
      }
      dims[number] = given;
    }
  }
}

void Sweep::extend(ValueId id, ArrayRef<CutId> wanted) {
  const GraphValue &info = graph.values[id];
  MutableArrayRef<CutId> dims = graph.dimsOf(id);
  const CutTable &cuts = graph.cuts;
  AxisMask seen = info.partial;
  bool changed = false;
  SmallVector<CutId, 8> next(dims.begin(), dims.end());
  for (unsigned dim = 0; dim < next.size(); ++dim) {
    CutId have = next[dim], want = wanted[dim];
    if (want != have && !graph.closed[info.firstDim + dim] &&
        cuts[have].axes.size() < cuts[want].axes.size() &&
        cuts.isPrefix(have, want) &&
        !(cuts[want].mask & ~cuts[have].mask & info.replicated)) {
      next[dim] = want;
      changed = true;
    }
    if (cuts[next[dim]].mask & seen)
      return;
    seen |= cuts[next[dim]].mask;
  }
  if (!changed)
    return;
  llvm::copy(next, dims.begin());
  for (uint32_t node : graph.nodesOf(id))
    dirty.set(node);
}

void Sweep::factorsOf(uint32_t number, SmallVectorImpl<CutId> &factors,
                      SmallVectorImpl<AxisSplit> *splits) {
  const GraphNode &node = graph.nodes[number];
  const RuleInfo &rule = *node.rule;
  SmallVector<ValueView, 8> views;
  bool anyCut = false;
  auto add = [&](ValueId id) {
    const GraphValue &info = graph.values[id];
    const CutId *dims = graph.dims.data() + info.firstDim;
    for (unsigned dim = 0; dim < info.rank; ++dim)
      anyCut |= dims[dim] != 0;
    views.push_back({dims, info.bytes, info.isBound});
  };
  for (ValueId id : graph.operandsOf(node).take_front(rule.numOperands))
    add(id);
  for (ValueId id : graph.resultsOf(node).take_front(rule.numResults))
    add(id);
  if (!anyCut) {
    factors.assign(rule.rule.factors.size(), 0);
    return;
  }
  ArrayRef<CutId> own;
  if (!bound.empty())
    own = bound[number];
  chooser.choose(rule, views, node.forbidden, own, factors, splits);
}

std::optional<CutId> Sweep::join(CutId prefix, CutId inner,
                                 int64_t innerSize) {
  const CutTable &cuts = graph.cuts;
  if (cuts[inner].block || innerSize % cuts[inner].pieces != 0)
    return std::nullopt;
  SmallVector<uint8_t, 8> axes(cuts[prefix].axes);
  axes.append(cuts[inner].axes.begin(), cuts[inner].axes.end());
  if (axes.size() > kMaxDimAxes)
    return std::nullopt;
  return graph.cuts.get(axes);
}

CutId Sweep::strip(CutId prefix, CutId cut) {
  if (!graph.cuts.isPrefix(prefix, cut) || graph.cuts[cut].block)
    return 0;
  SmallVector<uint8_t, 8> axes(graph.cuts[cut].axes);
  axes.erase(axes.begin(), axes.begin() + graph.cuts[prefix].axes.size());
  return graph.cuts.get(axes);
}

/// Inside of a manual computation a dimension has what its manual axes leave.
void Sweep::visitManual(const GraphNode &node) {
  ValueId outer = graph.operandsOf(node)[0], inner = graph.resultsOf(node)[0];
  if (node.kind == NodeKind::ManualOut)
    std::swap(outer, inner);
  SmallVector<CutId> prefix = graph.manualPrefix(node), in, out;
  auto type = cast<RankedTensorType>(graph.values[inner].value.getType());
  for (unsigned dim = 0; dim < prefix.size(); ++dim) {
    // The manual axes of a dimension are those of its annotation, and no more.
    in.push_back(graph.cuts.withoutAxes(
        strip(prefix[dim], graph.dimsOf(outer)[dim]), graph.manualAxes(node)));
    if (type.getDimSize(dim) % graph.cuts[in.back()].pieces != 0)
      in.back() = 0;
    out.push_back(join(prefix[dim], graph.dimsOf(inner)[dim],
                       type.getDimSize(dim))
                      .value_or(prefix[dim]));
  }
  extend(inner, in);
  extend(outer, out);
}

void Sweep::visit(uint32_t number) {
  const GraphNode &node = graph.nodes[number];
  switch (node.kind) {
  case NodeKind::Whole:
  case NodeKind::Return:
    return;
  case NodeKind::Constrain:
    // How a value is kept says nothing about how it is computed.
    if (node.op->hasAttr(kForwardOnlyAttr))
      return;
    return extend(graph.operandsOf(node)[0],
                  SmallVector<CutId, 8>(
                      graph.dimsOf(graph.resultsOf(node)[0])));
  case NodeKind::Reshard: {
    SmallVector<CutId, 8> dims;
    for (const DimCut &dim :
         ValueSharding(cast<pm::ReshardOp>(node.op).getSource()).dims)
      dims.push_back(graph.cuts.get(dim));
    return extend(graph.operandsOf(node)[0], dims);
  }
  case NodeKind::ManualIn:
  case NodeKind::ManualOut:
    return visitManual(node);
  case NodeKind::Op:
  case NodeKind::Join:
  case NodeKind::Group:
    break;
  }
  const RuleInfo &rule = *node.rule;
  if (!rule.hasRule)
    return;
  SmallVector<CutId, 8> factors, wanted;
  factorsOf(number, factors);
  if (llvm::all_of(factors, [](CutId cut) { return cut == 0; }))
    return;
  auto spread = [&](ValueId id, unsigned index) {
    wanted.clear();
    for (const RuleInfo::Dim &dim : rule.dimsOf(index))
      wanted.push_back(chooser.cutOf(rule, dim, factors));
    extend(id, wanted);
  };
  for (unsigned index = 0; index < rule.numOperands; ++index)
    spread(graph.operandsOf(node)[index], index);
  for (unsigned index = 0; index < rule.numResults; ++index)
    spread(graph.resultsOf(node)[index], rule.numOperands + index);
}

void Sweep::run() {
  dirty.resize(graph.nodes.size());
  // What a result must be is a wish for the value that is returned.
  const GraphNode &end = graph.nodes.back();
  for (auto [index, id] : llvm::enumerate(graph.operandsOf(end)))
    if (auto given = graph.function.getResultAttrOfType<pm::ShardingAttr>(
            index, pm::kShardingAttr)) {
      SmallVector<CutId, 8> dims;
      for (const DimCut &dim : ValueSharding(given).dims)
        dims.push_back(graph.cuts.get(dim));
      extend(id, dims);
    }
  if (!wishes.empty())
    bound.resize(graph.nodes.size());
  for (const Wish &wish : wishes)
    bound[wish.node] = wish.factors;
  for (const Wish &wish : wishes)
    visit(wish.node);
  for (int64_t priority : graph.priorities) {
    reveal(priority);
    dirty.set();
    while (dirty.any()) {
      for (int node = dirty.find_first(); node >= 0;
           node = dirty.find_next(node)) {
        dirty.reset(node);
        visit(node);
      }
      for (int node = dirty.find_last(); node >= 0;
           node = dirty.find_prev(node)) {
        dirty.reset(node);
        visit(node);
      }
    }
    if (priority == *graph.priorities.rbegin())
      continue;
    std::vector<SmallVector<CutId, 4>> decided(graph.nodes.size());
    for (uint32_t node = 0; node < graph.nodes.size(); ++node)
      factorsOf(node, decided[node]);
    bound = std::move(decided);
  }
}

SmallVector<AxisSplit> Sweep::findSplits() {
  SmallVector<AxisSplit> splits;
  SmallVector<CutId, 8> factors;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    if (graph.nodes[node].kind == NodeKind::Op &&
        graph.nodes[node].rule->isMerged)
      factorsOf(node, factors, &splits);
  return splits;
}
