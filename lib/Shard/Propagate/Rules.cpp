//===- Rules.cpp - the sharding rules of a function's ops -----------------===//

#include "Rules.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

RuleInfo::RuleInfo(ShardingRule given, bool hasRule, TypeRange operands,
                   TypeRange results)
    : rule(std::move(given)), hasRule(hasRule), numOperands(operands.size()),
      numResults(results.size()) {
  auto add = [&](TypeRange types, ArrayRef<SmallVector<DimFactors>> lists) {
    for (auto [index, type] : llvm::enumerate(types)) {
      firstDim.push_back(dims.size());
      auto tensor = dyn_cast<RankedTensorType>(type);
      for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim) {
        Dim &info = dims.emplace_back();
        info.size = tensor.getDimSize(dim);
        if (index >= lists.size() ||
            dim >= static_cast<int64_t>(lists[index].size()))
          continue;
        info.factors.assign(lists[index][dim].begin(), lists[index][dim].end());
        isMerged |= info.factors.size() > 1;
      }
    }
  };
  add(operands, rule.operands);
  add(results, rule.results);
  firstDim.push_back(dims.size());
}

bool RuleInfo::resultHas(unsigned result, unsigned factor) const {
  return llvm::any_of(dimsOf(numOperands + result), [&](const Dim &dim) {
    return llvm::is_contained(dim.factors, factor);
  });
}

/// Ops whose rule reads their types and attributes and nothing else.
static bool mayShare(Operation *op) {
  return op->getNumRegions() == 0 &&
         (op->hasTrait<stablehlo::Elementwise>() ||
          isa<stablehlo::ConstantOp, stablehlo::IotaOp,
              stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
              stablehlo::TransposeOp, stablehlo::DotGeneralOp,
              stablehlo::SliceOp>(op));
}

static bool haveOneRule(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      a->getResultTypes() != b->getResultTypes() ||
      a->getOperandTypes() != b->getOperandTypes())
    return false;
  return isa<stablehlo::ConstantOp>(a) ||
         a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage());
}

/// Of a collective in a manual computation: it goes through the dimensions that
/// it neither joins nor splits element by element.
static bool makeCollectiveRule(Operation *op, ShardingRule &rule) {
  SmallVector<int64_t, 2> mixed;
  if (auto gather = dyn_cast<pm::AllGatherOp>(op))
    mixed = {static_cast<int64_t>(gather.getDim())};
  else if (auto scatter = dyn_cast<pm::ReduceScatterOp>(op))
    mixed = {static_cast<int64_t>(scatter.getDim())};
  else if (auto exchange = dyn_cast<pm::AllToAllOp>(op))
    mixed = {static_cast<int64_t>(exchange.getSplit()),
             static_cast<int64_t>(exchange.getConcat())};
  else if (!isa<pm::CollectivePermuteOp>(op))
    return false;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  rule = ShardingRule();
  rule.operands.emplace_back(type.getRank());
  rule.results.emplace_back(type.getRank());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (llvm::is_contained(mixed, dim))
      continue;
    int64_t factor = rule.addFactor(type.getDimSize(dim));
    rule.operands[0][dim].push_back(factor);
    rule.results[0][dim].push_back(factor);
  }
  auto scatter = dyn_cast<pm::ReduceScatterOp>(op);
  if (!scatter || scatter.getKind() == pm::ReductionKind::Sum)
    rule.linearSets.push_back({0});
  return true;
}

const RuleInfo &RuleTable::add(ShardingRule rule, bool hasRule,
                               TypeRange operands, TypeRange results) {
  return rules.emplace_back(std::move(rule), hasRule, operands, results);
}

const RuleInfo &RuleTable::get(Operation *op) {
  auto make = [&]() -> const RuleInfo & {
    ShardingRule rule;
    bool hasRule = makeCollectiveRule(op, rule);
    if (!hasRule)
      rule = getRule(op, hasRule);
    return add(std::move(rule), hasRule, op->getOperandTypes(),
               op->getResultTypes());
  };
  if (!mayShare(op))
    return make();
  llvm::hash_code hash = llvm::hash_combine(
      op->getName().getAsOpaquePointer(),
      isa<stablehlo::ConstantOp>(op) ? llvm::hash_code(0)
                                     : op->hashProperties());
  for (Type type : op->getOperandTypes())
    hash = llvm::hash_combine(hash, type);
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type);
  // Not the two keys that the map keeps for itself.
  auto &list = shared[static_cast<unsigned>(hash) & 0x7fffffff];
  for (auto [other, rule] : list)
    if (haveOneRule(op, other))
      return *rule;
  const RuleInfo &made = make();
  list.emplace_back(op, &made);
  return made;
}

const RuleInfo &RuleTable::alike(Type type, unsigned count) {
  ShardingRule rule;
  auto tensor = dyn_cast<RankedTensorType>(type);
  SmallVector<DimFactors> dims;
  for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim)
    dims.push_back({rule.addFactor(tensor.getDimSize(dim))});
  rule.operands.assign(count, dims);
  SmallVector<Type> types(count, type);
  return add(std::move(rule), /*hasRule=*/true, types, {});
}

const RuleInfo &RuleTable::identity(Type type) {
  const RuleInfo *&known = identities[type];
  if (known)
    return *known;
  ShardingRule rule;
  auto tensor = dyn_cast<RankedTensorType>(type);
  SmallVector<DimFactors> dims;
  for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim)
    dims.push_back({rule.addFactor(tensor.getDimSize(dim))});
  rule.operands.push_back(dims);
  rule.results.push_back(dims);
  rule.linearSets.push_back({0});
  known = &add(std::move(rule), /*hasRule=*/true, type, type);
  return *known;
}

const RuleInfo &RuleTable::whole(TypeRange operands) {
  return add(ShardingRule(), /*hasRule=*/true, operands, {});
}
