//===- ModelRules.cpp - sharding rules of the fused model ops -------------===//

#include "RuleBuilder.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

/// One parallel factor for each dimension of `shape`.
static SmallVector<int64_t> parallelDims(RuleBuilder &builder,
                                         ArrayRef<int64_t> shape) {
  SmallVector<int64_t> factors;
  for (int64_t size : shape)
    factors.push_back(builder.parallel(size));
  return factors;
}

/// One summed factor for each dimension of `shape`.
static SmallVector<int64_t> summedDims(RuleBuilder &builder,
                                       ArrayRef<int64_t> shape) {
  SmallVector<int64_t> factors;
  for (int64_t size : shape)
    factors.push_back(builder.reduction(size));
  return factors;
}

static SmallVector<int64_t> append(ArrayRef<int64_t> rows, int64_t last) {
  SmallVector<int64_t> all(rows);
  all.push_back(last);
  return all;
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

/// A shard of the table gives the rows that it has, and zero for the others:
/// the vocabulary is summed over.
static ShardingRule embedding(EmbeddingOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> table = shapeOf(op.getTable());
  SmallVector<int64_t> rows = parallelDims(builder, shapeOf(op.getIds()));
  int64_t vocabulary = builder.reduction(table[0]);
  int64_t width = builder.parallel(table[1]);
  builder.operandDims(0, {vocabulary, width})
      .operandDims(1, rows)
      .resultDims(0, append(rows, width))
      .linear({0});
  return builder.take();
}

static ShardingRule embeddingGrad(EmbeddingGradOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> table = shapeOf(op.getResult());
  SmallVector<int64_t> rows = summedDims(builder, shapeOf(op.getIds()));
  int64_t vocabulary = builder.parallel(table[0]);
  int64_t width = builder.parallel(table[1]);
  builder.operandDims(0, rows)
      .operandDims(1, append(rows, width))
      .resultDims(0, {vocabulary, width})
      .linear({1});
  return builder.take();
}

//===----------------------------------------------------------------------===//
// Norms: rows are parallel, the last dimension must be whole.
//===----------------------------------------------------------------------===//

/// Every operand and result is either [rows..., width], [width] or [rows...].
static ShardingRule normRule(Operation *op,
                             ArrayRef<SmallVector<unsigned>> linear) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  SmallVector<int64_t> rows = parallelDims(builder, shape.drop_back());
  int64_t width = builder.replicated(shape.back(), "a norm reads whole rows");
  // With rows of rank 1, [width] and [rows] differ by their place only: the
  // weight and the bias are operands 1 and 2 of the ops that have them.
  auto isWeight = [&](unsigned index) {
    if (isa<RMSNormOp, RMSNormInputGradOp, LayerNormInputGradOp>(op))
      return index == 1;
    return isa<LayerNormOp>(op) && (index == 1 || index == 2);
  };
  auto dimsOf = [&](Value value) {
    return rankOf(value) == static_cast<int64_t>(shape.size())
               ? append(rows, width)
               : rows;
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (isWeight(index))
      builder.operandDims(index, {width});
    else
      builder.operandDims(index, dimsOf(operand));
  }
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    builder.resultDims(index, dimsOf(result));
  for (const SmallVector<unsigned> &set : linear)
    builder.linear(set);
  return builder.take();
}

/// Not linear in the weight: the statistics are results too.
static ShardingRule norm(Operation *op) { return normRule(op, {}); }

static ShardingRule rmsNormInputGrad(RMSNormInputGradOp op) {
  return normRule(op, {{3}, {1}});
}

static ShardingRule layerNormInputGrad(LayerNormInputGradOp op) {
  return normRule(op, {{4}, {1}});
}

/// Summed over the rows; each column by itself.
static ShardingRule weightGradRule(Operation *op,
                                   ArrayRef<SmallVector<unsigned>> linear) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  SmallVector<int64_t> rows = summedDims(builder, shape.drop_back());
  int64_t width = builder.parallel(shape.back());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    builder.operandDims(index,
                        rankOf(operand) == static_cast<int64_t>(shape.size())
                            ? append(rows, width)
                            : rows);
  builder.resultDims(0, {width});
  for (const SmallVector<unsigned> &set : linear)
    builder.linear(set);
  return builder.take();
}

static ShardingRule rmsNormWeightGrad(RMSNormWeightGradOp op) {
  return weightGradRule(op, {{2}, {0}, {1}});
}

static ShardingRule layerNormWeightGrad(LayerNormWeightGradOp op) {
  return weightGradRule(op, {{3}, {0, 1}, {2}});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static ShardingRule rope(RopeOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  int64_t batch = builder.parallel(shape[0]);
  int64_t sequence = builder.parallel(shape[1]);
  int64_t heads = builder.parallel(shape[2]);
  int64_t width = builder.replicated(shape[3], "a rotation mixes both halves of a head");
  int64_t half = builder.replicated(
      shape[3] / 2, "a rotation mixes both halves of a head");
  builder.operandDims(0, {batch, sequence, heads, width})
      .operandDims(1, {sequence, half})
      .operandDims(2, {sequence, half})
      .resultDims(0, {batch, sequence, heads, width})
      .linear({0})
      .linear({1, 2});
  return builder.take();
}

namespace {
/// The dimensions of attention: a query head is (key head, member of its
/// group), so that cutting the heads by key head keeps each group together.
/// When the members are cut too, each rank has some of the query heads of its
/// key heads, and the gradients of these are summed over the members.
struct AttentionFactors {
  AttentionFactors(RuleBuilder &builder, Value query, Value key,
                   bool isGradient) {
    ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key);
    batch = builder.parallel(q[0]);
    sequence = builder.replicated(
        q[1], "the mask of attention counts positions from the first");
    keySequence = builder.replicated(
        k[1], "a query attends to all positions");
    keyHeads = builder.parallel(k[2]);
    if (q[2] == k[2])
      group = -1;
    else
      group = isGradient ? builder.reduction(q[2] / k[2])
                         : builder.parallel(q[2] / k[2]);
    width = builder.replicated(q[3], "attention reads whole heads");
  }
  void setQuery(SmallVector<DimFactors> &dims) const {
    dims = {{batch}, {sequence}, heads(), {width}};
  }
  void setKey(SmallVector<DimFactors> &dims) const {
    dims = {{batch}, {keySequence}, {keyHeads}, {width}};
  }
  void setLse(SmallVector<DimFactors> &dims) const {
    dims = {{batch}, heads(), {sequence}};
  }

private:
  DimFactors heads() const {
    return group < 0 ? DimFactors{keyHeads} : DimFactors{keyHeads, group};
  }
  int64_t batch, sequence, keySequence, keyHeads, group, width;
};
} // namespace

static ShardingRule attention(AttentionOp op) {
  RuleBuilder builder(op);
  AttentionFactors factors(builder, op.getQuery(), op.getKey(),
                           /*isGradient=*/false);
  ShardingRule rule = builder.take();
  factors.setQuery(rule.operands[0]);
  factors.setKey(rule.operands[1]);
  factors.setKey(rule.operands[2]);
  factors.setQuery(rule.results[0]);
  factors.setLse(rule.results[1]);
  return rule;
}

static ShardingRule attentionGrad(AttentionGradOp op) {
  RuleBuilder builder(op);
  AttentionFactors factors(builder, op.getQuery(), op.getKey(),
                           /*isGradient=*/true);
  builder.linear({5});
  ShardingRule rule = builder.take();
  factors.setQuery(rule.operands[0]);
  factors.setKey(rule.operands[1]);
  factors.setKey(rule.operands[2]);
  factors.setQuery(rule.operands[3]);
  factors.setLse(rule.operands[4]);
  factors.setQuery(rule.operands[5]);
  factors.setQuery(rule.results[0]);
  factors.setKey(rule.results[1]);
  factors.setKey(rule.results[2]);
  return rule;
}

//===----------------------------------------------------------------------===//
// Loss and update
//===----------------------------------------------------------------------===//

/// The shards of the vocabulary exchange a maximum and two sums for each row.
static ShardingRule crossEntropy(CrossEntropyOp op) {
  RuleBuilder builder(op);
  SmallVector<int64_t> rows = parallelDims(builder, shapeOf(op.getTargets()));
  int64_t vocabulary = builder.exchanged(shapeOf(op.getLogits()).back());
  builder.operandDims(0, append(rows, vocabulary)).operandDims(1, rows);
  builder.resultDims(0, rows).resultDims(1, rows);
  return builder.take();
}

/// Each logit by itself, given the normaliser of its row.
static ShardingRule crossEntropyGrad(CrossEntropyGradOp op) {
  RuleBuilder builder(op);
  SmallVector<int64_t> rows = parallelDims(builder, shapeOf(op.getTargets()));
  int64_t vocabulary = builder.parallel(shapeOf(op.getLogits()).back());
  builder.operandDims(0, append(rows, vocabulary))
      .operandDims(1, rows)
      .operandDims(2, rows)
      .operandDims(3, rows)
      .resultDims(0, append(rows, vocabulary))
      .linear({3});
  return builder.take();
}

/// Element by element, with scalars that are whole.
static ShardingRule adamw(AdamWOp op) {
  RuleBuilder builder(op);
  SmallVector<int64_t> dims = parallelDims(builder, shapeOf(op.getParam()));
  for (unsigned index = 0; index < 4; ++index)
    builder.operandDims(index, dims);
  for (unsigned index = 0; index < 3; ++index)
    builder.resultDims(index, dims);
  return builder.take();
}

void pipemesh::attachModelRules(MLIRContext *context) {
  attachRule<EmbeddingOp, embedding>(context);
  attachRule<EmbeddingGradOp, embeddingGrad>(context);
  attachRule<RMSNormOp, norm>(context);
  attachRule<RMSNormInputGradOp, rmsNormInputGrad>(context);
  attachRule<RMSNormWeightGradOp, rmsNormWeightGrad>(context);
  attachRule<LayerNormOp, norm>(context);
  attachRule<LayerNormInputGradOp, layerNormInputGrad>(context);
  attachRule<LayerNormWeightGradOp, layerNormWeightGrad>(context);
  attachRule<RopeOp, rope>(context);
  attachRule<AttentionOp, attention>(context);
  attachRule<AttentionGradOp, attentionGrad>(context);
  attachRule<CrossEntropyOp, crossEntropy>(context);
  attachRule<CrossEntropyGradOp, crossEntropyGrad>(context);
  attachRule<AdamWOp, adamw>(context);
}
