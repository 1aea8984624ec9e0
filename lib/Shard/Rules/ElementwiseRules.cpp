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
/// comes after it: the sum is taken in the wider type.
static ShardingRule conversion(ConvertOp op) {
  Type from = elementOf(op.getOperand()), to = elementOf(op.getResult());
  bool widens = from == to;
  if (auto fromFloat = dyn_cast<FloatType>(from))
    if (auto toFloat = dyn_cast<FloatType>(to))
      widens =
          fromFloat.getWidth() < toFloat.getWidth() || fromFloat == toFloat;
  if (isa<IntegerType>(from) && !from.isInteger(1))
    widens |= isa<FloatType>(to) ||
              (isa<IntegerType>(to) &&
               from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth());
  if (widens)
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

template <typename... Ops> static void attachNonlinear(MLIRContext *context) {
  (attachRule<Ops, nonlinear>(context), ...);
}

void pipemesh::attachElementwiseRules(MLIRContext *context) {
  attachNonlinear<
      AbsOp, CbrtOp, CeilOp, CosineOp, ExpOp, Expm1Op, FloorOp, LogOp, Log1pOp,
      LogisticOp, NotOp, RoundNearestEvenOp, RsqrtOp, SignOp, SineOp, SqrtOp,
      TanhOp, IsFiniteOp, AndOp, MaxOp, MinOp, OrOp, PowOp, RemOp, ShiftLeftOp,
      ShiftRightArithmeticOp, ShiftRightLogicalOp, XorOp, CompareOp, ClampOp>(
      context);
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
  attachNonlinear<chlo::ErfOp, chlo::ErfcOp, chlo::SquareOp>(context);
}
