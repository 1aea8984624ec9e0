//===- ElementwiseRules.cpp - sharding rules of elementwise ops -----------===//

#include "RuleBuilder.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

static bool isBoolean(Value value) { return elementOf(value).isInteger(1); }
static bool isInteger(Value value) {
  return isa<IntegerType>(elementOf(value));
}

static ShardingRule nonlinear(Operation *op) { return pointwiseRule(op, {}); }

/// negate: linear in its operand.
static ShardingRule linearUnary(Operation *op) {
  return pointwiseRule(op, {{0}});
}

/// add, subtract: linear in both together. On booleans `add` is `or`.
static ShardingRule linearSum(Operation *op) {
  if (isBoolean(op->getResult(0)))
    return nonlinear(op);
  return pointwiseRule(op, {{0, 1}});
}

/// multiply: linear in either. On booleans it is `and`.
static ShardingRule bilinear(Operation *op) {
  if (isBoolean(op->getResult(0)))
    return nonlinear(op);
  return pointwiseRule(op, {{0}, {1}});
}

/// divide: linear in the numerator, where it does not round to integers.
static ShardingRule quotient(Operation *op) {
  if (isInteger(op->getResult(0)))
    return nonlinear(op);
  return pointwiseRule(op, {{0}});
}

/// A conversion that loses nothing may come before the sum. One that rounds
/// comes after it: the sum is taken in the wider type. Integers wrap around, so
/// that parts may be cut to fewer bits, and not extended to more.
static ShardingRule conversion(ConvertOp op) {
  Type from = elementOf(op.getOperand()), to = elementOf(op.getResult());
  bool isLinear = from == to;
  if (auto fromFloat = dyn_cast<FloatType>(from))
    if (auto toFloat = dyn_cast<FloatType>(to))
      isLinear |= fromFloat.getWidth() < toFloat.getWidth();
  if (isa<IntegerType>(from) && isa<IntegerType>(to) && !to.isInteger(1))
    isLinear |= from.getIntOrFloatBitWidth() >= to.getIntOrFloatBitWidth();
  if (isLinear)
    return pointwiseRule(op, {{0}});
  return nonlinear(op);
}

/// select: linear in both choices, for a predicate that is whole.
static ShardingRule choice(Operation *op) {
  return pointwiseRule(op, {{1, 2}});
}

/// optimization_barrier: each result is its own operand.
static ShardingRule barrier(OptimizationBarrierOp op) {
  RuleBuilder builder(op);
  SmallVector<unsigned> all;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    for (auto [dim, size] : llvm::enumerate(shapeOf(op->getOperand(index)))) {
      int64_t factor = builder.parallel(size);
      builder.operand(index, dim, factor).result(index, dim, factor);
    }
    all.push_back(index);
  }
  builder.linear(all);
  return builder.take();
}

/// top_k: rows by themselves. The candidates of all shards of a row are gathered,
/// and the best of them taken.
static ShardingRule topK(chlo::TopKOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  SmallVector<int64_t> operand, results;
  for (int64_t size : from.drop_back())
    operand.push_back(builder.parallel(size));
  results = operand;
  operand.push_back(builder.exchanged(from.back()));
  results.push_back(
      builder.replicated(op.getK(), "the largest come first, on every rank"));
  builder.operandDims(0, operand).resultDims(0, results).resultDims(1, results);
  return builder.take();
}

template <typename... Ops> static void attachNonlinear(MLIRContext *context) {
  (attachRule<Ops, nonlinear>(context), ...);
}

void pipemesh::attachElementwiseRules(MLIRContext *context) {
  attachNonlinear<
      AbsOp, AndOp, Atan2Op, CbrtOp, CeilOp, ClampOp, ClzOp, CompareOp,
      CosineOp, ExpOp, Expm1Op, FloorOp, IsFiniteOp, LogOp, Log1pOp, LogisticOp,
      MaxOp, MinOp, NotOp, OrOp, PopulationCountOp, PowOp, ReducePrecisionOp,
      RemOp, RoundNearestAfzOp, RoundNearestEvenOp, RsqrtOp, ShiftLeftOp,
      ShiftRightArithmeticOp, ShiftRightLogicalOp, SignOp, SineOp, SqrtOp,
      TanOp, TanhOp, XorOp>(context);
  attachRule<ComplexOp, linearSum>(context);
  attachRule<RealOp, linearUnary>(context);
  attachRule<ImagOp, linearUnary>(context);
  attachRule<NegOp, linearUnary>(context);
  attachRule<AddOp, linearSum>(context);
  attachRule<SubtractOp, linearSum>(context);
  attachRule<MulOp, bilinear>(context);
  attachRule<DivOp, quotient>(context);
  attachRule<ConvertOp, conversion>(context);
  attachRule<SelectOp, choice>(context);
  attachRule<OptimizationBarrierOp, barrier>(context);
}

void pipemesh::attachCHLORules(MLIRContext *context) {
  attachNonlinear<chlo::AcosOp, chlo::AcoshOp, chlo::AsinOp, chlo::AsinhOp,
                  chlo::AtanOp, chlo::AtanhOp, chlo::CoshOp, chlo::DigammaOp,
                  chlo::ErfInvOp, chlo::ErfOp, chlo::ErfcOp, chlo::LgammaOp,
                  chlo::NextAfterOp, chlo::SinhOp, chlo::SquareOp>(context);
  attachRule<chlo::TopKOp, topK>(context);
}
