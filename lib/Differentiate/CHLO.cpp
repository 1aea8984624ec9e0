//===- CHLO.cpp - gradients of chlo ops -----------------------------------===//

#include "Models.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

/// dy * 2/sqrt(pi) * exp(-x^2).
static Value erfGradient(chlo::ErfOp op, GradientBuilder &g, unsigned,
                         ValueRange dy) {
  Value x = op.getOperand();
  Value bell = stablehlo::ExpOp::create(g.builder, g.loc,
                                        g.negate(g.multiply(x, x)));
  constexpr double slopeAtZero = 2.0 * llvm::numbers::inv_sqrtpi;
  return g.multiply(dy[0], g.multiply(bell, slopeAtZero));
}

void pipemesh::attachCHLOGradients(MLIRContext *context) {
  chlo::ErfOp::attachInterface<GradientModel<chlo::ErfOp, erfGradient>>(
      *context);
}
