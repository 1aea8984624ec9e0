//===- PMModelOps.cpp - verifiers and builders of fused ops ---------------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pipemesh::pm;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `outer` without its last dimension, of that element type.
static RankedTensorType rowType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_back(),
                               type.getElementType());
}

static LogicalResult expectRank(Operation *op, StringRef what,
                                RankedTensorType type, int64_t rank) {
  if (type.getRank() == rank)
    return success();
  return op->emitOpError() << what << " must have rank " << rank
                           << ", but is " << type;
}

static LogicalResult expectType(Operation *op, StringRef what,
                                RankedTensorType type,
                                RankedTensorType wanted) {
  if (type == wanted)
    return success();
  return op->emitOpError() << what << " must be " << wanted << ", but is "
                           << type;
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

/// Rows of `table` in the shape of `ids`.
static LogicalResult verifyEmbedding(Operation *op, RankedTensorType table,
                                     RankedTensorType ids,
                                     RankedTensorType rows, StringRef what) {
  if (failed(expectRank(op, "the table", table, 2)))
    return failure();
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getDimSize(1));
  return expectType(op, what, rows,
                    RankedTensorType::get(shape, table.getElementType()));
}

LogicalResult EmbeddingOp::verify() {
  if (failed(verifyEmbedding(*this, tensorOf(getTable()), tensorOf(getIds()),
                             tensorOf(getResult()), "the result")))
    return failure();
  int64_t rows = tensorOf(getTable()).getDimSize(0);
  if (getPadding() && *getPadding() >= static_cast<uint64_t>(rows))
    return emitOpError("pads with the id ")
           << *getPadding() << ", which is no row of a table of " << rows;
  return success();
}

LogicalResult EmbeddingGradOp::verify() {
  return verifyEmbedding(*this, tensorOf(getResult()), tensorOf(getIds()),
                         tensorOf(getGrad()), "the cotangent");
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static LogicalResult verifyNorm(Operation *op, Value input, Value weight,
                                Value rstd) {
  RankedTensorType type = tensorOf(input);
  if (type.getRank() < 1)
    return op->emitOpError("input must have at least rank 1, but is ") << type;
  auto wanted = RankedTensorType::get({type.getShape().back()},
                                      type.getElementType());
  if (failed(expectType(op, "the weight", tensorOf(weight), wanted)))
    return failure();
  return expectType(op, "a row statistic", tensorOf(rstd), rowType(type));
}

LogicalResult RMSNormOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), getRstd());
}
LogicalResult RMSNormInputGradOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), getRstd());
}
LogicalResult RMSNormWeightGradOp::verify() {
  return verifyNorm(*this, getInput(), getResult(), getRstd());
}
LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), getRstd());
}
LogicalResult LayerNormInputGradOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), getRstd());
}
LogicalResult LayerNormWeightGradOp::verify() {
  return verifyNorm(*this, getInput(), getResult(), getRstd());
}

void RMSNormOp::build(OpBuilder &builder, OperationState &state, Value input,
                      Value weight, double epsilon) {
  build(builder, state, input.getType(), rowType(tensorOf(input)), input,
        weight, builder.getF64FloatAttr(epsilon));
}

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value input,
                        Value weight, Value bias, double epsilon) {
  Type row = rowType(tensorOf(input));
  build(builder, state, input.getType(), row, row, input, weight, bias,
        builder.getF64FloatAttr(epsilon));
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  RankedTensorType type = tensorOf(getInput());
  if (failed(expectRank(*this, "the input", type, 4)))
    return failure();
  if (type.getDimSize(3) % 2 != 0)
    return emitOpError("rotates pairs, but the last dimension of ")
           << type << " is odd";
  return expectType(*this, "a rotary table", tensorOf(getCos()),
                    RankedTensorType::get(
                        {type.getDimSize(1), type.getDimSize(3) / 2},
                        type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// One number a query, at least as exact as float32: scores are exponents.
static RankedTensorType logSumExpType(RankedTensorType query) {
  Type element = query.getElementType();
  if (element.isBF16() || element.isF16())
    element = Float32Type::get(query.getContext());
  return RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(2), query.getDimSize(1)}, element);
}

static LogicalResult verifyAttention(Operation *op, Value query, Value key,
                                     Value lse, bool causal, int64_t window) {
  RankedTensorType q = tensorOf(query), k = tensorOf(key);
  if (failed(expectRank(op, "the query", q, 4)) ||
      failed(expectRank(op, "the key", k, 4)))
    return failure();
  if (q.getDimSize(0) != k.getDimSize(0) || q.getDimSize(3) != k.getDimSize(3))
    return op->emitOpError("query ")
           << q << " and key " << k << " differ in batch or head width";
  if (k.getDimSize(2) == 0 ? q.getDimSize(2) != 0
                           : q.getDimSize(2) % k.getDimSize(2) != 0)
    return op->emitOpError("has ")
           << q.getDimSize(2) << " query heads, which is not a multiple of "
           << k.getDimSize(2) << " key heads";
  if (causal && q.getDimSize(1) != k.getDimSize(1))
    return op->emitOpError("is causal, but has ")
           << q.getDimSize(1) << " queries and " << k.getDimSize(1) << " keys";
  if (window < 0)
    return op->emitOpError("has window ") << window << "; 0 means none";
  return expectType(op, "lse", tensorOf(lse), logSumExpType(q));
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getQuery(), getKey(), getLse(), getCausal(),
                         getWindow());
}

LogicalResult AttentionGradOp::verify() {
  return verifyAttention(*this, getQuery(), getKey(), getLse(), getCausal(),
                         getWindow());
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, double scale, bool causal,
                        int64_t window) {
  RankedTensorType q = tensorOf(query);
  build(builder, state, q, logSumExpType(q), query, key, value,
        builder.getF64FloatAttr(scale),
        causal ? builder.getUnitAttr() : UnitAttr(),
        builder.getI64IntegerAttr(window));
}

//===----------------------------------------------------------------------===//
// Loss and optimizer
//===----------------------------------------------------------------------===//

static LogicalResult verifyLoss(Operation *op, Value logits, Value targets,
                                Value rows) {
  RankedTensorType type = tensorOf(logits);
  if (type.getRank() < 1)
    return op->emitOpError("logits must have at least rank 1, but are ")
           << type;
  if (tensorOf(targets).getShape() != type.getShape().drop_back())
    return op->emitOpError("targets ")
           << tensorOf(targets) << " do not match the rows of logits " << type;
  return expectType(op, "a row result", tensorOf(rows), rowType(type));
}

LogicalResult CrossEntropyOp::verify() {
  return verifyLoss(*this, getLogits(), getTargets(), getNll());
}

LogicalResult CrossEntropyGradOp::verify() {
  return verifyLoss(*this, getLogits(), getTargets(), getLse());
}

LogicalResult AdamWOp::verify() {
  return expectRank(*this, "a scalar", tensorOf(getStep()), 0);
}
