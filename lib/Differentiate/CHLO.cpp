//===- CHLO.cpp - gradients of chlo ops -----------------------------------===//

#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "Models.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

/// 2/sqrt(pi) * exp(-x^2), the derivative of erf.
static Value erfSlope(GradientBuilder &g, Value x) {
  Value bell =
      stablehlo::ExpOp::create(g.builder, g.loc, g.negate(g.multiply(x, x)));
  return g.multiply(bell, 2.0 * llvm::numbers::inv_sqrtpi);
}

static Value erfGradient(chlo::ErfOp op, GradientBuilder &g, unsigned,
                         ValueRange dy) {
  return g.multiply(dy[0], erfSlope(g, op.getOperand()));
}

static Value erfcGradient(chlo::ErfcOp op, GradientBuilder &g, unsigned,
                          ValueRange dy) {
  return g.negate(g.multiply(dy[0], erfSlope(g, op.getOperand())));
}

static Value squareGradient(chlo::SquareOp op, GradientBuilder &g, unsigned,
                            ValueRange dy) {
  return g.multiply(dy[0], g.multiply(op.getOperand(), 2.0));
}

template <typename Op, auto Gradient> static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, Gradient>>(*context);
}

void pipemesh::attachCHLOGradients(MLIRContext *context) {
  attach<chlo::ErfOp, erfGradient>(context);
  attach<chlo::ErfcOp, erfcGradient>(context);
  attach<chlo::SquareOp, squareGradient>(context);
}
