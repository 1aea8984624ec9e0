//===- RuleBuilder.cpp - helpers to write sharding rules ------------------===//

#include "RuleBuilder.h"
#include "mlir/IR/DialectRegistry.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Shard/Models.h"

using namespace mlir;
using namespace pipemesh;

static size_t rankOfType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

RuleBuilder::RuleBuilder(Operation *op) {
  for (Type type : op->getOperandTypes())
    rule.operands.emplace_back(rankOfType(type));
  for (Type type : op->getResultTypes())
    rule.results.emplace_back(rankOfType(type));
}

static void setDims(SmallVector<DimFactors> &dims, ArrayRef<int64_t> factors) {
  assert(dims.size() == factors.size() && "one factor for each dimension");
  for (auto [dim, factor] : llvm::zip(dims, factors))
    if (factor >= 0)
      dim.push_back(factor);
}

RuleBuilder &RuleBuilder::operandDims(unsigned index,
                                      ArrayRef<int64_t> factors) {
  setDims(rule.operands[index], factors);
  return *this;
}

RuleBuilder &RuleBuilder::resultDims(unsigned index,
                                     ArrayRef<int64_t> factors) {
  setDims(rule.results[index], factors);
  return *this;
}

ShardingRule pipemesh::pointwiseRule(Operation *op,
                                     ArrayRef<SmallVector<unsigned>> linear) {
  RuleBuilder builder(op);
  SmallVector<int64_t> factors;
  for (int64_t size : shapeOf(op->getResult(0)))
    factors.push_back(builder.parallel(size));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (rankOf(operand) == static_cast<int64_t>(factors.size()))
      builder.operandDims(index, factors);
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    builder.resultDims(index, factors);
  for (const SmallVector<unsigned> &set : linear)
    builder.linear(set);
  return builder.take();
}

void pipemesh::registerShardingRules(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, stablehlo::StableHLODialect *) {
        attachElementwiseRules(context);
        attachShapeRules(context);
        attachContractionRules(context);
        attachIndexRules(context);
        attachMovedRules(context);
        attachWindowRules(context);
      });
  registry.addExtension(+[](MLIRContext *context, chlo::CHLODialect *) {
    attachCHLORules(context);
  });
  registry.addExtension(+[](MLIRContext *context, pm::PMDialect *) {
    attachModelRules(context);
  });
}
