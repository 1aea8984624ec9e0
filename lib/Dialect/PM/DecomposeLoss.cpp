//===- DecomposeLoss.cpp - cross-entropy and AdamW in stablehlo -----------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh::pm;
using pipemesh::stablehlo::ComparisonDirection;
using pipemesh::stablehlo::TensorBuilder;

/// The label that is not counted, as in PyTorch's cross_entropy.
static constexpr double kIgnoredTarget = -100;

/// Whether element [..., v] is the target of its row.
static Value isTarget(TensorBuilder &b, Value logits, Value targets) {
  ArrayRef<int64_t> shape = TensorBuilder::shapeOf(logits);
  Value v = b.iota(shape, TensorBuilder::typeOf(targets).getElementType(),
                   shape.size() - 1);
  return b.compare(v, b.broadcastLeading(targets, logits),
                   ComparisonDirection::EQ);
}

static Value isCounted(TensorBuilder &b, Value targets) {
  return b.compare(targets, b.splat(kIgnoredTarget, targets),
                   ComparisonDirection::NE);
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value logits = getLogits();
  int64_t last = TensorBuilder::typeOf(logits).getRank() - 1;
  Value rowMax = b.reduceMax(logits, {last});
  Value shifted = b.sub(logits, b.broadcastLeading(rowMax, logits));
  Value lse = b.add(b.log(b.sumLast(b.exp(shifted))), rowMax);
  Value picked = b.sumLast(b.select(isTarget(b, logits, getTargets()), logits,
                                    b.splat(0.0, logits)));
  Value nll = b.sub(lse, picked);
  return {b.select(isCounted(b, getTargets()), nll, b.splat(0.0, nll)), lse};
}

SmallVector<Value> CrossEntropyGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value logits = getLogits();
  Value probabilities =
      b.exp(b.sub(logits, b.broadcastLeading(getLse(), logits)));
  Value oneHot = b.convert(isTarget(b, logits, getTargets()),
                           TensorBuilder::typeOf(logits).getElementType());
  Value grad = b.select(isCounted(b, getTargets()), getGrad(),
                        b.splat(0.0, getGrad()));
  return {b.mul(b.sub(probabilities, oneHot),
                b.broadcastLeading(grad, logits))};
}

SmallVector<Value> AdamWOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value p = getParam();
  auto wide = [&](Value scalar) {
    return b.broadcast(scalar, {}, TensorBuilder::shapeOf(p));
  };
  Value one = b.scalar(1.0, TensorBuilder::typeOf(getStep()).getElementType());
  Value g = b.mul(getGrad(), wide(getGradScale()));
  Value m = b.add(b.mul(getMoment1(), wide(getBeta1())),
                  b.mul(g, wide(b.sub(one, getBeta1()))));
  Value v = b.add(b.mul(getMoment2(), wide(getBeta2())),
                  b.mul(b.mul(g, g), wide(b.sub(one, getBeta2()))));
  // 1 - beta^t, and the step size and denominator as PyTorch orders them.
  Value correction1 = b.sub(one, b.pow(getBeta1(), getStep()));
  Value correction2 = b.sub(one, b.pow(getBeta2(), getStep()));
  Value stepSize = b.div(getLearningRate(), correction1);
  Value denominator =
      b.add(b.mul(b.sqrt(v), wide(b.rsqrt(correction2))), wide(getEpsilon()));
  Value kept = p;
  if (getDecay())
    kept = b.mul(p, wide(b.sub(one, b.mul(getLearningRate(), getWeightDecay()))));
  Value update = b.mul(b.div(m, denominator), wide(stepSize));
  return {b.sub(kept, update), m, v};
}
