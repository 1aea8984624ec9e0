//===- VocabularyOps.cpp - lookup and loss over shards --------------------===//
//
// Vocabulary parallelism (Shoeybi et al. 2019, section 3): a rank looks up the
// rows that it has, and the loss exchanges three numbers for each row instead
// of the logits. Each function makes elementwise ops and reductions of the last
// dimension, which the lowering fuses into one kernel on each side of an
// exchange.
//
//===----------------------------------------------------------------------===//

#include "VocabularyOps.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh;
using pipemesh::stablehlo::ComparisonDirection;
using pipemesh::stablehlo::TensorBuilder;

/// The label that is not counted, as in pm.cross_entropy.
static constexpr double kIgnoredTarget = -100;

std::optional<VocabularyDim> pipemesh::getVocabularyDim(Operation *op) {
  if (auto lookup = dyn_cast<pm::EmbeddingOp>(op))
    return VocabularyDim{lookup.getTable(), 0};
  if (isa<pm::EmbeddingGradOp>(op))
    return VocabularyDim{op->getResult(0), 0};
  if (isa<pm::CrossEntropyOp, pm::CrossEntropyGradOp>(op)) {
    Value logits = op->getOperand(0);
    return VocabularyDim{
        logits,
        unsigned(cast<RankedTensorType>(logits.getType()).getRank()) - 1};
  }
  return std::nullopt;
}

namespace {
/// Builds what a rank computes of its block.
class BlockBuilder : public TensorBuilder {
public:
  BlockBuilder(OpBuilder &builder, Location loc, const VocabularyBlock &block)
      : TensorBuilder(builder, loc), block(block) {}

  /// Ids of the whole vocabulary as places in the block; those of other blocks
  /// are outside of it.
  Value toPlaces(Value ids) {
    return sub(ids, spread(block.offset, ids, typeOf(ids).getElementType()));
  }
  /// The places along the last dimension of `like`.
  Value places(Value like, Type element) {
    return iota(shapeOf(like), element, typeOf(like).getRank() - 1);
  }
  /// The value where an element's id exists, `otherwise` in the padding. The
  /// condition is made for each use: it is cheaper than to keep it.
  Value keep(Value value, double otherwise) {
    if (!block.limit)
      return value;
    Type i32 = builder.getI32Type();
    Value exists = compare(places(value, i32), spread(block.limit, value, i32),
                           ComparisonDirection::LT);
    return select(exists, value, splat(otherwise, value));
  }
  /// The same, by the opposite condition.
  Value drop(Value value, double otherwise) {
    if (!block.limit)
      return value;
    Type i32 = builder.getI32Type();
    Value isBeyond =
        compare(places(value, i32), spread(block.limit, value, i32),
                ComparisonDirection::GE);
    return select(isBeyond, splat(otherwise, value), value);
  }
  /// Whether an element is the target of its row.
  Value isTarget(Value logits, Value targets) {
    Value places = this->places(logits, typeOf(targets).getElementType());
    return compare(places, broadcastLeading(toPlaces(targets), logits),
                   ComparisonDirection::EQ);
  }
  Value isCounted(Value targets) {
    return compare(targets, splat(kIgnoredTarget, targets),
                   ComparisonDirection::NE);
  }

private:
  Value spread(Value scalar, Value like, Type element) {
    if (typeOf(scalar).getElementType() != element)
      scalar = convert(scalar, element);
    return broadcast(scalar, {}, shapeOf(like));
  }

  const VocabularyBlock &block;
};
} // namespace

/// The rows of the block; those of other ids are zero, so that the results of
/// all blocks add up.
static Value lookUp(BlockBuilder &b, pm::EmbeddingOp op) {
  Value ids = b.toPlaces(op.getIds());
  int64_t rows = TensorBuilder::shapeOf(op.getTable())[0];
  Value first = b.splat(0, ids), last = b.splat(rows - 1, ids);
  Value clamped = b.min(b.max(ids, first), last);
  Value inside = b.compare(ids, clamped, ComparisonDirection::EQ);
  Value found = pm::EmbeddingOp::create(
      b.builder, b.loc, op.getResult().getType(), op.getTable(), clamped);
  return b.select(b.broadcastLeading(inside, found), found,
                  b.splat(0.0, found));
}

static SmallVector<Value> crossEntropy(BlockBuilder &b, pm::CrossEntropyOp op,
                                       const VocabularyBlock &block,
                                       const MeshAxes &mesh) {
  Value logits = op.getLogits(), targets = op.getTargets();
  int64_t last = TensorBuilder::typeOf(logits).getRank() - 1;
  SmallVector<Attribute> axes(block.axes.begin(), block.axes.end());
  auto exchange = [&](ValueRange values, pm::ReductionKind kind) {
    auto reduce = pm::AllReduceOp::create(
        b.builder, b.loc, values.getTypes(), values,
        pm::ReductionKindAttr::get(b.builder.getContext(), kind),
        b.builder.getArrayAttr(axes), mesh.symbol());
    if (Attribute phase = op->getAttr(pm::kPhaseAttr))
      reduce->setAttr(pm::kPhaseAttr, phase);
    return reduce;
  };
  Value ownMax = b.reduceMax(b.keep(logits, -INFINITY), {last});
  Value rowMax = exchange(ownMax, pm::ReductionKind::Max).getResult(0);
  // Both sums are of one pass over the logits. The condition is not the one of
  // the first pass, which would be kept in memory between the two.
  Value shifted = b.sub(logits, b.broadcastLeading(rowMax, logits));
  Value sum = b.sumLast(b.drop(b.exp(shifted), 0.0));
  Value picked = b.sumLast(
      b.select(b.isTarget(logits, targets), shifted, b.splat(0.0, logits)));
  auto sums = exchange({sum, picked}, pm::ReductionKind::Sum);
  Value log = b.log(sums.getResult(0));
  Value nll = b.sub(log, sums.getResult(1));
  return {b.select(b.isCounted(targets), nll, b.splat(0.0, nll)),
          b.add(log, rowMax)};
}

static Value crossEntropyGrad(BlockBuilder &b, pm::CrossEntropyGradOp op) {
  Value logits = op.getLogits(), targets = op.getTargets();
  Value probabilities =
      b.exp(b.sub(logits, b.broadcastLeading(op.getLse(), logits)));
  Value oneHot = b.convert(b.isTarget(logits, targets),
                           TensorBuilder::typeOf(logits).getElementType());
  Value grad =
      b.select(b.isCounted(targets), op.getGrad(), b.splat(0.0, op.getGrad()));
  Value result =
      b.mul(b.sub(probabilities, oneHot), b.broadcastLeading(grad, logits));
  return b.keep(result, 0.0);
}

SmallVector<Value> pipemesh::expandOverVocabulary(OpBuilder &builder,
                                                  Operation *op,
                                                  const VocabularyBlock &block,
                                                  const MeshAxes &mesh) {
  BlockBuilder b(builder, op->getLoc(), block);
  if (auto lookup = dyn_cast<pm::EmbeddingOp>(op))
    return {lookUp(b, lookup)};
  if (auto grad = dyn_cast<pm::EmbeddingGradOp>(op))
    // Ids of other blocks are rows that the result does not have.
    return {pm::EmbeddingGradOp::create(
        builder, op->getLoc(), grad.getResult().getType(),
        b.toPlaces(grad.getIds()), grad.getGrad())};
  if (auto loss = dyn_cast<pm::CrossEntropyOp>(op))
    return crossEntropy(b, loss, block, mesh);
  return {crossEntropyGrad(b, cast<pm::CrossEntropyGradOp>(op))};
}
