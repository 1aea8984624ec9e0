//===- DecomposeNorms.cpp - normalisations in stablehlo -------------------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh::pm;
using pipemesh::stablehlo::TensorBuilder;

SmallVector<Value> RMSNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  Value meanSquare = b.meanLast(b.mul(x, x));
  Value rstd = b.rsqrt(
      b.add(meanSquare, b.splat(getEpsilon().convertToDouble(), meanSquare)));
  Value normalised = b.mul(x, b.broadcastLeading(rstd, x));
  return {b.mul(normalised, b.broadcastTrailing(getWeight(), x)), rstd};
}

SmallVector<Value> RMSNormInputGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  Value rstd = b.broadcastLeading(getRstd(), x);
  Value n = b.mul(x, rstd);
  Value g = b.mul(getGrad(), b.broadcastTrailing(getWeight(), x));
  Value mean = b.broadcastLeading(b.meanLast(b.mul(g, n)), x);
  return {b.mul(rstd, b.sub(g, b.mul(n, mean)))};
}

/// The sum over every dimension but the last.
static Value sumRows(TensorBuilder &b, Value value) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0, e = TensorBuilder::typeOf(value).getRank() - 1; i < e; ++i)
    dims.push_back(i);
  return b.reduceSum(value, dims);
}

SmallVector<Value> RMSNormWeightGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  Value n = b.mul(x, b.broadcastLeading(getRstd(), x));
  return {sumRows(b, b.mul(getGrad(), n))};
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  Value mean = b.meanLast(x);
  Value centred = b.sub(x, b.broadcastLeading(mean, x));
  Value variance = b.meanLast(b.mul(centred, centred));
  Value rstd = b.rsqrt(
      b.add(variance, b.splat(getEpsilon().convertToDouble(), variance)));
  Value n = b.mul(centred, b.broadcastLeading(rstd, x));
  Value scaled = b.mul(n, b.broadcastTrailing(getWeight(), x));
  return {b.add(scaled, b.broadcastTrailing(getBias(), x)), mean, rstd};
}

/// (x - mean) * rstd.
static Value normalise(TensorBuilder &b, Value x, Value mean, Value rstd) {
  return b.mul(b.sub(x, b.broadcastLeading(mean, x)),
               b.broadcastLeading(rstd, x));
}

SmallVector<Value> LayerNormInputGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  Value n = normalise(b, x, getMean(), getRstd());
  Value g = b.mul(getGrad(), b.broadcastTrailing(getWeight(), x));
  Value meanG = b.broadcastLeading(b.meanLast(g), x);
  Value meanGN = b.broadcastLeading(b.meanLast(b.mul(g, n)), x);
  Value inner = b.sub(b.sub(g, meanG), b.mul(n, meanGN));
  return {b.mul(b.broadcastLeading(getRstd(), x), inner)};
}

SmallVector<Value> LayerNormWeightGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value n = normalise(b, getInput(), getMean(), getRstd());
  return {sumRows(b, b.mul(getGrad(), n))};
}
