//===- CutTrace.cpp -------------------------------------------------------===//

#include "CutTrace.h"
#include "ShardingAlgebra.h"
#include "llvm/ADT/Twine.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Dependence
//===----------------------------------------------------------------------===//

Dependence::Dependence(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto state = function.getArgAttrOfType<pm::StateAttr>(
        argument.getArgNumber(), pm::kStateAttr);
    bool isParameter = state && state.getKind() == pm::StateKind::Parameter;
    values[argument] = isParameter ? ofParameter : ofInput;
    if (isParameter)
      parameters.insert(argument);
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    unsigned all = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        all |= values.lookup(operand);
    });
    for (Value result : op.getResults())
      values[result] = all;
  }
}

std::optional<WeightProduct>
pipemesh::getWeightProduct(stablehlo::DotGeneralOp dot,
                           const Dependence &dependence) {
  bool lhs = dependence.isWeight(dot.getLhs());
  bool rhs = dependence.isWeight(dot.getRhs());
  if (lhs == rhs)
    return std::nullopt;
  return lhs ? WeightProduct{1, 0} : WeightProduct{0, 1};
}

//===----------------------------------------------------------------------===//
// The trace
//===----------------------------------------------------------------------===//

bool CutTrace::stop(const Twine &why) {
  if (reason.empty())
    reason = why.str();
  return false;
}

/// The factor that a cut of a dimension cuts first, or -1: the outermost one
/// that has more than one element.
static int64_t getOutermost(const DimFactors &dim, const ShardingRule &rule) {
  for (int64_t factor : dim)
    if (rule.factors[factor].size > 1)
      return factor;
  return -1;
}

bool CutTrace::follow(Value value, unsigned dim, bool ofKeyHeads) {
  if (!seen.insert({value, dim}).second)
    return true;
  auto known = failures.find({value, dim});
  if (known != failures.end())
    return stop(known->second);
  if (followNew(value, dim, ofKeyHeads))
    return true;
  failures[{value, dim}] = reason;
  return false;
}

bool CutTrace::followNew(Value value, unsigned dim, bool ofKeyHeads) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!dependence.isParameter(argument))
      return stop("an input of the step");
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    if (!ofKeyHeads)
      parts = std::gcd(parts, size);
    cuts.push_back({argument, dim, ofKeyHeads});
    return true;
  }
  auto result = cast<OpResult>(value);
  if (auto attention = dyn_cast<pm::AttentionOp>(result.getOwner()))
    return followAttention(attention, result, dim);
  return followOp(result, dim, ofKeyHeads);
}

bool CutTrace::followAttention(pm::AttentionOp op, OpResult result,
                               unsigned dim) {
  constexpr unsigned headDim = 2; // of [batch, sequence, heads, width]
  if (result.getResultNumber() != 0 || dim != headDim)
    return stop("another dimension of an attention than its heads");
  int64_t heads = op.getQuery().getType().getDimSize(headDim);
  int64_t keyHeads = op.getKey().getType().getDimSize(headDim);
  attentions.push_back(op);
  parts = std::gcd(parts, heads);
  if (!follow(op.getQuery(), headDim))
    return false;
  if (keyHeads == 1) // Whole on every rank.
    return true;
  bool grouped = keyHeads != heads;
  return follow(op.getKey(), headDim, grouped) &&
         follow(op.getValue(), headDim, grouped);
}

bool CutTrace::followOp(OpResult result, unsigned dim, bool ofKeyHeads) {
  Operation *op = result.getOwner();
  bool hasRule = false;
  ShardingRule rule = getRule(op, hasRule);
  std::string name = ("'" + op->getName().getStringRef() + "'").str();
  if (!hasRule || isa<pm::EmbeddingOp, stablehlo::GatherOp>(op))
    return stop(name);
  int64_t factor =
      getOutermost(rule.results[result.getResultNumber()][dim], rule);
  if (factor < 0 || rule.factors[factor].kind != FactorKind::Parallel)
    return stop(name + ", which needs that dimension whole");
  if (!ofKeyHeads)
    parts = std::gcd(parts, rule.factors[factor].size);

  SmallVector<std::pair<Value, unsigned>> sources;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    for (auto [source, factors] : llvm::enumerate(dims)) {
      if (!llvm::is_contained(factors, factor))
        continue;
      if (getOutermost(factors, rule) != factor)
        return stop(name + ", which merges that dimension into another one");
      sources.emplace_back(operand, source);
    }
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  // A batching dimension has two sources; what has one is a free dimension. Of
  // an activation that is one of samples, which other axes cut.
  if (dot && sources.size() == 1 && dependence.hasInput(result)) {
    if (dependence.hasInput(sources[0].first))
      return stop(name + ", which keeps that dimension of an activation");
    ++columnProducts;
  }
  return llvm::all_of(sources, [&](auto source) {
    return follow(source.first, source.second, ofKeyHeads);
  });
}
