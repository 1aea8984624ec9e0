//===- DecomposeAttention.cpp - attention in stablehlo --------------------===//
//
// Letters in comments: batch b, query s, key t, key head k, query head in its
// group g, head width d.
//
//===----------------------------------------------------------------------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;
using pipemesh::stablehlo::ComparisonDirection;
using pipemesh::stablehlo::TensorBuilder;

/// What is computed with: half precision is rounded once, at the end.
static Value widened(TensorBuilder &b, Value value) {
  Type element = TensorBuilder::typeOf(value).getElementType();
  return element.isBF16() || element.isF16()
             ? b.convert(value, b.builder.getF32Type())
             : value;
}
static Value rounded(TensorBuilder &b, Value value, Value like) {
  Type element = TensorBuilder::typeOf(like).getElementType();
  return TensorBuilder::typeOf(value).getElementType() == element
             ? value
             : b.convert(value, element);
}

namespace {
/// What both directions share: grouped queries, masked scores.
struct Scores {
  TensorBuilder b;
  int64_t batch, queries, keys, heads, keyHeads, group, width;
  Value query;  ///< [b, s, k, g, d]
  Value key;    ///< [b, t, k, d]
  Value visible;///< [b, k, s, g, t] of i1, null where all keys are
  Value scores; ///< [b, k, s, g, t], scaled, not masked

  Scores(OpBuilder &builder, Location loc, Value q, Value k, double scale,
         bool causal, int64_t window)
      : b(builder, loc) {
    q = widened(b, q), k = widened(b, k);
    key = k;
    ArrayRef<int64_t> qs = TensorBuilder::shapeOf(q);
    ArrayRef<int64_t> ks = TensorBuilder::shapeOf(k);
    batch = qs[0], queries = qs[1], heads = qs[2], width = qs[3];
    keys = ks[1], keyHeads = ks[2], group = heads / keyHeads;
    query = b.reshape(q, {batch, queries, keyHeads, group, width});
    Value dot = b.dot(query, k, {0, 2}, {0, 2}, {4}, {3});
    scores = b.mul(dot, b.splat(scale, dot));
    visible = mask(causal, window);
  }

  Value mask(bool causal, int64_t window) {
    if (!causal && window <= 0)
      return {};
    Type i32 = b.builder.getI32Type();
    Value i = b.iota({queries, keys}, i32, 0);
    Value j = b.iota({queries, keys}, i32, 1);
    Value mask;
    if (causal)
      mask = b.compare(j, i, ComparisonDirection::LE);
    if (window > 0) {
      Value distance = b.sub(i, j);
      Value near = b.compare(distance, b.splat(window, distance),
                             ComparisonDirection::LT);
      mask = mask ? stablehlo::AndOp::create(b.builder, b.loc, mask, near)
                        .getResult()
                  : near;
    }
    return b.broadcast(mask, {2, 4}, TensorBuilder::shapeOf(scores));
  }

  Value masked(Value value, double hidden) {
    return visible ? b.select(visible, value, b.splat(hidden, value)) : value;
  }

  /// [b, k, s, g, t] or [b, k, s, g] from what lies as [b, s, h].
  Value groupRows(Value value) {
    return b.transpose(b.reshape(value, {batch, queries, keyHeads, group}),
                       {0, 2, 1, 3});
  }
  Value overKeys(Value rows) { return b.broadcast(rows, {0, 1, 2, 3}, TensorBuilder::shapeOf(scores)); }

  /// [b, k, s, g, d] to the layout of the queries.
  Value toHeads(Value value) {
    return b.reshape(b.transpose(value, {0, 2, 1, 3, 4}),
                     {batch, queries, heads, width});
  }
};
} // namespace

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Scores s(builder, getLoc(), getQuery(), getKey(),
           getScale().convertToDouble(), getCausal(), getWindow());
  TensorBuilder &b = s.b;
  Value scores = s.masked(s.scores, -std::numeric_limits<double>::infinity());
  Value rowMax = b.reduceMax(scores, {4});
  Value weights = b.exp(b.sub(scores, s.overKeys(rowMax)));
  Value sum = b.reduceSum(weights, {4});
  Value probabilities = b.div(weights, s.overKeys(sum));
  Value result =
      b.dot(probabilities, widened(b, getValue()), {0, 1}, {0, 2}, {4}, {1});
  Value lse = b.add(b.log(sum), rowMax);
  lse = b.reshape(b.transpose(lse, {0, 1, 3, 2}), {s.batch, s.heads, s.queries});
  return {rounded(b, s.toHeads(result), getQuery()), lse};
}

SmallVector<Value> AttentionGradOp::decompose(OpBuilder &builder) {
  double scale = getScale().convertToDouble();
  Scores s(builder, getLoc(), getQuery(), getKey(), scale, getCausal(),
           getWindow());
  TensorBuilder &b = s.b;
  Value lse = b.transpose(
      b.reshape(getLse(), {s.batch, s.keyHeads, s.group, s.queries}),
      {0, 1, 3, 2});
  Value probabilities =
      s.masked(b.exp(b.sub(s.scores, s.overKeys(lse))), 0.0);
  Value wholeGrad = widened(b, getGrad());
  Value grad =
      b.reshape(wholeGrad, {s.batch, s.queries, s.keyHeads, s.group, s.width});
  Value dP = b.dot(grad, widened(b, getValue()), {0, 2}, {0, 2}, {4}, {3});
  Value rowSum =
      s.groupRows(b.sumLast(b.mul(wholeGrad, widened(b, getResult()))));
  Value dS = b.mul(probabilities, b.sub(dP, s.overKeys(rowSum)));
  dS = b.mul(dS, b.splat(scale, dS));
  Value dQuery = s.toHeads(b.dot(dS, s.key, {0, 1}, {0, 2}, {4}, {1}));
  Value dKey = b.dot(dS, s.query, {0, 1}, {0, 2}, {2, 3}, {1, 3});
  Value dValue = b.dot(probabilities, grad, {0, 1}, {0, 2}, {2, 3}, {1, 3});
  return {rounded(b, dQuery, getQuery()),
          rounded(b, b.transpose(dKey, {0, 2, 1, 3}), getKey()),
          rounded(b, b.transpose(dValue, {0, 2, 1, 3}), getValue())};
}
