//===- Elementwise.cpp - gradients of elementwise ops ---------------------===//
//
// Where a derivative does not exist or a choice has to be made (ties of a
// maximum, the edges of a clamp) the choice is JAX's.
//
//===----------------------------------------------------------------------===//

#include "Models.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

//===----------------------------------------------------------------------===//
// Unary. With y = f(x), a function gives f'(x) * dy.
//===----------------------------------------------------------------------===//

static Value absGradient(AbsOp op, GradientBuilder &g, unsigned,
                         ValueRange dy) {
  return g.multiply(dy[0], SignOp::create(g.builder, g.loc, op.getOperand()));
}

/// dy / (3 y^2).
static Value cbrtGradient(CbrtOp op, GradientBuilder &g, unsigned,
                          ValueRange dy) {
  Value square = g.multiply(op.getResult(), op.getResult());
  return g.divide(dy[0], g.multiply(square, 3.0));
}

static Value cosineGradient(CosineOp op, GradientBuilder &g, unsigned,
                            ValueRange dy) {
  Value sine = SineOp::create(g.builder, g.loc, op.getOperand());
  return g.negate(g.multiply(dy[0], sine));
}

static Value sineGradient(SineOp op, GradientBuilder &g, unsigned,
                          ValueRange dy) {
  return g.multiply(dy[0], CosineOp::create(g.builder, g.loc, op.getOperand()));
}

static Value expGradient(ExpOp op, GradientBuilder &g, unsigned,
                         ValueRange dy) {
  return g.multiply(dy[0], op.getResult());
}

static Value expm1Gradient(Expm1Op op, GradientBuilder &g, unsigned,
                           ValueRange dy) {
  Value y = op.getResult();
  return g.multiply(dy[0], g.add(y, g.splat(y.getType(), 1.0)));
}

static Value logGradient(LogOp op, GradientBuilder &g, unsigned,
                         ValueRange dy) {
  return g.divide(dy[0], op.getOperand());
}

static Value log1pGradient(Log1pOp op, GradientBuilder &g, unsigned,
                           ValueRange dy) {
  Value x = op.getOperand();
  return g.divide(dy[0], g.add(x, g.splat(x.getType(), 1.0)));
}

/// dy * y * (1 - y).
static Value logisticGradient(LogisticOp op, GradientBuilder &g, unsigned,
                              ValueRange dy) {
  Value y = op.getResult();
  Value rest = g.subtract(g.splat(y.getType(), 1.0), y);
  return g.multiply(dy[0], g.multiply(y, rest));
}

static Value negateGradient(NegOp, GradientBuilder &g, unsigned,
                            ValueRange dy) {
  return g.negate(dy[0]);
}

/// -dy/2 * y / x.
static Value rsqrtGradient(RsqrtOp op, GradientBuilder &g, unsigned,
                           ValueRange dy) {
  Value slope = g.divide(op.getResult(), op.getOperand());
  return g.multiply(g.multiply(dy[0], slope), -0.5);
}

/// dy/2 / y.
static Value sqrtGradient(SqrtOp op, GradientBuilder &g, unsigned,
                          ValueRange dy) {
  return g.divide(g.multiply(dy[0], 0.5), op.getResult());
}

/// dy * (1 - y^2).
static Value tanhGradient(TanhOp op, GradientBuilder &g, unsigned,
                          ValueRange dy) {
  Value y = op.getResult();
  Value slope = g.subtract(g.splat(y.getType(), 1.0), g.multiply(y, y));
  return g.multiply(dy[0], slope);
}

static Value convertGradient(ConvertOp op, GradientBuilder &g, unsigned,
                             ValueRange dy) {
  return g.convert(dy[0], op.getOperand().getType().getElementType());
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

static Value addGradient(AddOp, GradientBuilder &, unsigned, ValueRange dy) {
  return dy[0];
}

static Value subtractGradient(SubtractOp, GradientBuilder &g, unsigned operand,
                              ValueRange dy) {
  return operand == 0 ? dy[0] : g.negate(dy[0]);
}

static Value multiplyGradient(MulOp op, GradientBuilder &g, unsigned operand,
                              ValueRange dy) {
  return g.multiply(dy[0], operand == 0 ? op.getRhs() : op.getLhs());
}

/// da = dy / b, db = -(dy / b) * y.
static Value divideGradient(DivOp op, GradientBuilder &g, unsigned operand,
                            ValueRange dy) {
  Value quotient = g.divide(dy[0], op.getRhs());
  if (operand == 0)
    return quotient;
  return g.negate(g.multiply(quotient, op.getResult()));
}

/// dy where the operand is the greater one (the lesser one of a minimum), and
/// half of it where both are equal.
template <typename Op>
static Value extremumGradient(Op op, GradientBuilder &g, unsigned operand,
                              ValueRange dy) {
  Value self = operand == 0 ? op.getLhs() : op.getRhs();
  Value other = operand == 0 ? op.getRhs() : op.getLhs();
  auto wins = std::is_same_v<Op, MaxOp> ? ComparisonDirection::GT
                                        : ComparisonDirection::LT;
  Value tie = g.compare(ComparisonDirection::EQ, op.getLhs(), op.getRhs());
  Value rest = g.select(tie, g.multiply(dy[0], 0.5), g.zeros(self.getType()));
  return g.select(g.compare(wins, self, other), dy[0], rest);
}

/// da = dy * b * a^(b-1), 0 where b is 0; db = dy * log(a) * y, 0 where a is 0.
static Value powerGradient(PowOp op, GradientBuilder &g, unsigned operand,
                           ValueRange dy) {
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = base.getType();
  if (operand == 1) {
    Value isZero = g.compare(ComparisonDirection::EQ, base, g.zeros(type));
    Value safe = g.select(isZero, g.splat(type, 1.0), base);
    Value logarithm = LogOp::create(g.builder, g.loc, safe);
    return g.multiply(dy[0], g.multiply(logarithm, op.getResult()));
  }
  if (std::optional<double> b = getSplat(exponent)) {
    if (*b == 0.0)
      return Value();
    Value power;
    if (*b == 1.0)
      power = g.splat(type, 1.0);
    else if (*b == 2.0)
      power = base;
    else if (*b == 3.0)
      power = g.multiply(base, base);
    else
      power = PowOp::create(g.builder, g.loc, base, g.splat(type, *b - 1.0));
    return g.multiply(dy[0], g.multiply(power, *b));
  }
  Value one = g.splat(type, 1.0);
  Value isZero = g.compare(ComparisonDirection::EQ, exponent, g.zeros(type));
  Value lowered = g.select(isZero, one, g.subtract(exponent, one));
  Value power = PowOp::create(g.builder, g.loc, base, lowered);
  return g.multiply(dy[0], g.multiply(exponent, power));
}

/// With the quotient q truncated towards zero, a rem b = a - q b.
static Value remainderGradient(RemOp op, GradientBuilder &g, unsigned operand,
                               ValueRange dy) {
  if (operand == 0)
    return dy[0];
  Value quotient = g.divide(op.getLhs(), op.getRhs());
  Value magnitude = FloorOp::create(g.builder, g.loc,
                                    AbsOp::create(g.builder, g.loc, quotient));
  Value sign = SignOp::create(g.builder, g.loc, quotient);
  return g.negate(g.multiply(dy[0], g.multiply(sign, magnitude)));
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

static Value selectGradient(SelectOp op, GradientBuilder &g, unsigned operand,
                            ValueRange dy) {
  Value zero = g.zeros(dy[0].getType());
  return operand == 1 ? g.select(op.getPred(), dy[0], zero)
                      : g.select(op.getPred(), zero, dy[0]);
}

/// To the operand strictly between the bounds, else to the bound that holds: of
/// min(max(x, low), high) the upper one where they cross.
static Value clampGradient(ClampOp op, GradientBuilder &g, unsigned operand,
                           ValueRange dy) {
  Value x = op.getOperand();
  Value low = g.broadcastLike(op.getMin(), x);
  Value high = g.broadcastLike(op.getMax(), x);
  Value zero = g.zeros(x.getType());
  auto less = ComparisonDirection::LT;
  Value holds;
  if (operand == 2)
    holds = g.compare(less, high, MaxOp::create(g.builder, g.loc, x, low));
  else
    holds = AndOp::create(
        g.builder, g.loc,
        operand == 0 ? g.compare(less, x, low) : g.compare(less, low, x),
        operand == 0 ? g.compare(less, low, high) : g.compare(less, x, high));
  return g.unbroadcastScalar(g.select(holds, dy[0], zero),
                             op->getOperand(operand));
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename Op, auto Gradient> static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, Gradient>>(*context);
}

void pipemesh::attachElementwiseGradients(MLIRContext *context) {
  attach<AbsOp, absGradient>(context);
  attach<CbrtOp, cbrtGradient>(context);
  attach<CosineOp, cosineGradient>(context);
  attach<ExpOp, expGradient>(context);
  attach<Expm1Op, expm1Gradient>(context);
  attach<LogOp, logGradient>(context);
  attach<Log1pOp, log1pGradient>(context);
  attach<LogisticOp, logisticGradient>(context);
  attach<NegOp, negateGradient>(context);
  attach<RsqrtOp, rsqrtGradient>(context);
  attach<SineOp, sineGradient>(context);
  attach<SqrtOp, sqrtGradient>(context);
  attach<TanhOp, tanhGradient>(context);
  attach<ConvertOp, convertGradient>(context);
  attach<AddOp, addGradient>(context);
  attach<DivOp, divideGradient>(context);
  attach<MaxOp, extremumGradient<MaxOp>>(context);
  attach<MinOp, extremumGradient<MinOp>>(context);
  attach<MulOp, multiplyGradient>(context);
  attach<PowOp, powerGradient>(context);
  attach<RemOp, remainderGradient>(context);
  attach<SubtractOp, subtractGradient>(context);
  attach<SelectOp, selectGradient>(context);
  attach<ClampOp, clampGradient>(context);
  CeilOp::attachInterface<StepFunctionModel<CeilOp>>(*context);
  FloorOp::attachInterface<StepFunctionModel<FloorOp>>(*context);
  RoundNearestEvenOp::attachInterface<StepFunctionModel<RoundNearestEvenOp>>(
      *context);
  SignOp::attachInterface<StepFunctionModel<SignOp>>(*context);
}
