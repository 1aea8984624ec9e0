//===- PartialPlan.cpp - where partial values are made whole --------------===//

#include "PartialPlan.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

/// A collective takes as long as moving so many bytes, however small it is.
static constexpr double kLatencyBytes = 1 << 14;
static constexpr double kNever = std::numeric_limits<double>::infinity();

void PartialPlan::fix(Value value, const ValueSharding &sharding) {
  Info &info = infos[value];
  info.sharding = sharding;
  info.fixed = true;
  if (isa<BlockArgument>(value))
    arguments.push_back(value);
}

void PartialPlan::add(Operation *op, const ShardingRule *rule,
                      FactorAxes factors,
                      ArrayRef<const ValueSharding *> results) {
  numbers[op] = nodes.size();
  nodes.push_back({op, rule, std::move(factors), {}});
  for (auto [result, sharding] : llvm::zip(op->getResults(), results)) {
    Info &info = infos[result];
    if (!info.fixed) {
      info.sharding = *sharding;
      info.sharding.partial.clear();
    }
  }
}

bool PartialPlan::isPartial(Value value, StringAttr axis) const {
  auto found = infos.find(value);
  return found != infos.end() &&
         llvm::is_contained(found->second.sharding.partial, axis);
}

bool PartialPlan::isReduced(Value value, StringAttr axis) const {
  auto found = infos.find(value);
  return found != infos.end() &&
         llvm::is_contained(found->second.reduced, axis);
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

double PartialPlan::wire(Value value, ArrayRef<StringAttr> axes) const {
  double ranks = 1;
  for (StringAttr axis : axes)
    if (!mesh.isTemporal(axis)) // The plan is the same for one rank as for two.
      ranks *= std::max<int64_t>(2, mesh.sizeOf(axis));
  if (ranks == 1)
    return 0;
  double bytes = byteSizeOf(value.getType()), runs = 1;
  for (const DimCut &dim : infos.find(value)->second.sharding.dims)
    for (StringAttr axis : dim.axes) {
      if (mesh.isTemporal(axis))
        runs *= mesh.sizeOf(axis);
      else
        bytes /= mesh.sizeOf(axis);
    }
  return 2 * (ranks - 1) / ranks * bytes + runs * kLatencyBytes;
}

double PartialPlan::added(Value value, StringAttr axis) const {
  if (mesh.isTemporal(axis))
    return 0;
  Axes all = infos.find(value)->second.sharding.partial, others = all;
  llvm::erase(others, axis);
  return wire(value, all) - wire(value, others);
}

/// Finds which values are partial, as long as everything flows that is not
/// known to be reduced.
void PartialPlan::spread() {
  for (Value argument : arguments) {
    Info &info = infos[argument];
    for (StringAttr axis : info.sharding.partial)
      info.before[axis] = added(argument, axis);
  }
  for (Node &node : nodes) {
    node.flows.assign(node.op->getNumOperands(), {});
    SmallVector<ValueSharding> results;
    if (node.rule) {
      SmallVector<const ValueSharding *> operands;
      for (Value operand : node.op->getOperands())
        operands.push_back(&infos.find(operand)->second.sharding);
      OpShardings shardings =
          inferOpShardings(node.op, *node.rule, node.factors, mesh, operands,
                           [&](unsigned index, StringAttr axis) {
                             return isReduced(node.op->getOperand(index), axis);
                           });
      for (auto [flows, operand] : llvm::zip(node.flows, shardings.operands))
        flows = operand.partial;
      results = std::move(shardings.results);
    } else {
      pm::ShardingAttr source;
      if (auto reshard = dyn_cast<pm::ReshardOp>(node.op))
        source = reshard.getSource();
      else
        source = cast<pm::ConstrainOp>(node.op).getSharding();
      node.flows[0].assign(source.getPartialAxes().begin(),
                           source.getPartialAxes().end());
    }
    for (auto [index, result] : llvm::enumerate(node.op->getResults())) {
      Info &info = infos[result];
      info.before.clear();
      if (!info.fixed) {
        info.sharding.partial = results[index].partial;
        info.sharding.kind = results[index].kind;
      }
      for (StringAttr axis : info.sharding.partial) {
        double here = added(result, axis), before = kNever;
        if (node.rule)
          for (auto [operand, flows] :
               llvm::zip(node.op->getOperands(), node.flows))
            if (llvm::is_contained(flows, axis))
              before = (before == kNever ? 0 : before) +
                       infos[operand].before.lookup(axis);
        info.before[axis] = std::min(here, before);
      }
    }
  }
}

double PartialPlan::priceOfUse(Operation *user, Value value, StringAttr axis) {
  auto number = numbers.find(user);
  if (number == numbers.end())
    return kNever; // The function's end, or a region.
  const Node &node = nodes[number->second];
  llvm::SmallDenseSet<Value, 4> added;
  bool isUnavoidable = false;
  double results = 0, atResults = 0, other = 0;
  for (Value result : user->getResults())
    if (isPartial(result, axis)) {
      results += infos[result].after.lookup(axis);
      atResults += this->added(result, axis);
    }
  for (auto [operand, flows] : llvm::zip(user->getOperands(), node.flows)) {
    bool isFlowing = llvm::is_contained(flows, axis);
    if (operand == value && !isFlowing)
      return kNever;
    if (!isFlowing || !isPartial(operand, axis))
      continue;
    added.insert(operand);
    if (operand != value && infos[operand].before.lookup(axis) >= atResults) {
      isUnavoidable = true;
      other = std::max(other, wire(operand, {axis}));
    }
  }
  if (!node.rule)
    return 0;
  // Without this value the other one would be reduced by itself, in front.
  if (isUnavoidable)
    return std::min(0.0, atResults - other);
  return results / std::max<size_t>(1, added.size());
}

/// Prices a value whose users are priced; returns whether it turned out to be
/// reduced over another axis.
bool PartialPlan::price(Value value) {
  Info &info = infos[value];
  info.after.clear();
  bool waits = llvm::any_of(info.sharding.partial, [&](StringAttr axis) {
    return mesh.isTemporal(axis) && !llvm::is_contained(info.reduced, axis);
  });
  bool changed = false;
  for (StringAttr axis : info.sharding.partial) {
    double here = added(value, axis), flowing = 0;
    for (Operation *user : llvm::SmallSetVector<Operation *, 4>(
             value.user_begin(), value.user_end()))
      flowing += priceOfUse(user, value, axis);
    info.after[axis] = std::min(here, flowing);
    bool isReduced = flowing == kNever || (!waits && flowing > here);
    if (isReduced && !llvm::is_contained(info.reduced, axis)) {
      info.reduced.push_back(axis);
      changed = true;
    }
  }
  return changed;
}

void PartialPlan::solve() {
  bool changed = true;
  while (changed) {
    changed = false;
    spread();
    for (Node &node : llvm::reverse(nodes))
      for (Value result : node.op->getResults())
        if (!infos[result].sharding.partial.empty())
          changed |= price(result);
    for (Value argument : arguments)
      if (!infos[argument].sharding.partial.empty())
        changed |= price(argument);
  }
}
