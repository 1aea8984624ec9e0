//===- Alternatives.cpp - other choices where cuts meet -------------------===//

#include "Alternatives.h"
#include "../Reshard.h"
#include "Settle.h"
#include "mlir/IR/Diagnostics.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

/// Ops of all trials together, and the most trials.
static constexpr size_t kMostOps = 60000, kMostTrials = 32;
/// Conflicts that are tried in one round, those of the largest values first.
static constexpr size_t kMostConflicts = 12;
/// What a trial must be below the best to be taken: below that the prices are no
/// better than the choice of the sweep.
static constexpr double kGain = 0.98;
/// How often the body of a loop is taken to run.
static constexpr double kTrips = 8;

namespace {
/// An op takes an operand otherwise than it lies; it could take it as it is.
struct Conflict {
  double bytes; ///< Of the op's largest value.
  Wish other;
};

class Search {
public:
  Search(func::FuncOp function, CutTable &cuts)
      : function(function), cuts(cuts), reshards(cuts.mesh()) {}
  std::vector<Wish> run();

private:
  /// What a step moves with these wishes; infinite where they lead nowhere.
  double priceOf(ArrayRef<Wish> wishes, std::vector<Conflict> *conflicts);
  double priceOfReshards(func::FuncOp copy);
  double priceOf(pm::ReshardOp op);
  void findConflicts(Graph &graph, Sweep &sweep, std::vector<Conflict> &list);

  func::FuncOp function;
  CutTable &cuts;
  Reshards reshards;
  size_t trials = 0;
};
} // namespace

static constexpr double kNever = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

double Search::priceOf(pm::ReshardOp op) {
  auto onlyCutting = [&](pm::ShardingAttr attr) {
    ValueSharding sharding(attr);
    auto isOne = [&](StringAttr axis) { return cuts.mesh().sizeOf(axis) == 1; };
    for (DimCut &dim : sharding.dims)
      llvm::erase_if(dim.axes, isOne);
    llvm::erase_if(sharding.partial, isOne);
    return sharding;
  };
  ValueSharding source = onlyCutting(op.getSource()),
                target = onlyCutting(op.getTarget());
  if (source == target)
    return 0;
  std::string error;
  auto steps = reshards.find(cast<RankedTensorType>(op.getType()), source,
                             target, error);
  if (failed(steps))
    return kNever;
  double price = 0;
  for (const ReshardStep &step : **steps)
    price += cuts.mesh().hasLinks() ? step.seconds : step.bytes;
  // Each micro-batch moves its own.
  for (const DimCut &dim : source.dims)
    for (StringAttr axis : dim.axes)
      if (cuts.mesh().isTemporal(axis))
        price *= cuts.mesh().sizeOf(axis);
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<stablehlo::WhileOp>(parent))
      price *= kTrips;
  return price;
}

double Search::priceOfReshards(func::FuncOp copy) {
  double price = 0;
  copy.walk([&](pm::ReshardOp op) { price += priceOf(op); });
  return price;
}

double Search::priceOf(ArrayRef<Wish> wishes,
                       std::vector<Conflict> *conflicts) {
  ++trials;
  ModuleOp module = function->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = module.clone();
  auto own = copy->lookupSymbol<func::FuncOp>(function.getName());
  // What is wrong is said of the function itself.
  ScopedDiagnosticHandler silent(function.getContext(),
                                 [](Diagnostic &) { return success(); });
  RuleTable rules;
  Graph graph(own, cuts, rules);
  // What the user has ranked stays so.
  if (failed(graph.build()) || graph.priorities.size() > 1)
    return kNever;
  Sweep sweep(graph, wishes);
  sweep.run();
  if (!sweep.findSplits().empty())
    return kNever;
  if (conflicts)
    findConflicts(graph, sweep, *conflicts);
  PartialPlan plan(graph, sweep);
  plan.solve();
  if (failed(Settle(graph, sweep, plan).run()))
    return kNever;
  return priceOfReshards(own);
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

void Search::findConflicts(Graph &graph, Sweep &sweep,
                           std::vector<Conflict> &list) {
  FactorChooser &chooser = sweep.getChooser();
  SmallVector<CutId, 8> factors, alone;
  for (uint32_t number = 0; number < graph.nodes.size(); ++number) {
    const GraphNode &node = graph.nodes[number];
    if (node.kind != NodeKind::Op || !node.rule->hasRule)
      continue;
    const RuleInfo &rule = *node.rule;
    sweep.factorsOf(number, factors);
    SmallVector<ValueId, 8> ids(
        graph.operandsOf(node).take_front(rule.numOperands));
    llvm::append_range(ids, graph.resultsOf(node).take_front(rule.numResults));
    if (llvm::any_of(ids, [&](ValueId id) {
          return graph.values[id].rank > kMaxDimAxes;
        }))
      continue;
    double most = 0;
    for (ValueId id : ids)
      most = std::max(most, graph.values[id].bytes);
    for (unsigned index = 0; index < rule.numOperands; ++index) {
      MutableArrayRef<CutId> have = graph.dimsOf(ids[index]);
      AxisMask lost = 0;
      for (auto [dim, cut] : llvm::zip(rule.dimsOf(index), have))
        lost |= cuts[cut].mask & ~cuts[chooser.cutOf(rule, dim, factors)].mask;
      if (!(lost & ~cuts.temporal()))
        continue;
      // The factors as this operand alone would have them.
      static constexpr CutId whole[kMaxDimAxes] = {};
      SmallVector<ValueView, 8> views;
      for (auto [place, id] : llvm::enumerate(ids)) {
        views.push_back({place == index ? have.data() : whole,
                         graph.values[id].bytes, /*isBound=*/false});
      }
      chooser.choose(rule, views, node.forbidden, {}, alone);
      if (ArrayRef<CutId>(alone) != ArrayRef<CutId>(factors))
        list.push_back({most,
                        {number, SmallVector<CutId, 4>(ArrayRef<CutId>(alone))}});
    }
  }
  llvm::sort(list, [](const Conflict &a, const Conflict &b) {
    return std::tie(b.bytes, a.other.node, a.other.factors) <
           std::tie(a.bytes, b.other.node, b.other.factors);
  });
  if (list.size() > kMostConflicts)
    list.resize(kMostConflicts);
}

std::vector<Wish> Search::run() {
  size_t ops = 0;
  function.walk([&](Operation *) { ++ops; });
  size_t most = std::min(kMostTrials, kMostOps / std::max<size_t>(ops, 1));
  std::vector<Wish> best;
  if (most < 2)
    return best;
  std::vector<Conflict> conflicts;
  double least = priceOf(best, &conflicts);
  if (least == kNever || least == 0)
    return best;
  while (!conflicts.empty() && trials < most) {
    std::vector<Wish> next;
    double found = least * kGain;
    for (const Conflict &conflict : conflicts) {
      if (trials >= most)
        break;
      std::vector<Wish> wishes = best;
      wishes.push_back(conflict.other);
      if (double price = priceOf(wishes, nullptr); price < found) {
        found = price;
        next = std::move(wishes);
      }
    }
    if (next.empty())
      break;
    best = std::move(next);
    conflicts.clear();
    least = priceOf(best, &conflicts);
  }
  return best;
}

std::vector<Wish> pipemesh::findWishes(func::FuncOp function, CutTable &cuts) {
  return Search(function, cuts).run();
}
