//===- VocabularyOps.cpp - lookup and loss over shards --------------------===//
//
// Vocabulary parallelism (Shoeybi et al. 2019, section 3): a rank looks up the
// rows that it has, and the loss exchanges three numbers for each row instead
// of the logits. Each function makes elementwise ops and reductions of the last
// dimension, which the lowering fuses into one kernel on each side of an
// exchange.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;
using pipemesh::stablehlo::ComparisonDirection;
using pipemesh::stablehlo::TensorBuilder;

/// The label that is not counted, as in pm.cross_entropy.
static constexpr double kIgnoredTarget = -100;

namespace {
/// Where one rank's block of the vocabulary lies. Both are scalars of i32.
struct VocabularyBlock {
  /// The first id of the block.
  Value offset;
  /// How many ids from there on exist; null where every block is full.
  Value limit;
  /// The axes that cut the vocabulary.
  Axes axes;
};

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
  if (isSeeded(Fault::UnmaskedLookup))
    return found;
  return b.select(b.broadcastLeading(inside, found), found,
                  b.splat(0.0, found));
}

static SmallVector<Value> crossEntropy(Partitioner &p, BlockBuilder &b,
                                       pm::CrossEntropyOp op,
                                       const VocabularyBlock &block) {
  Value logits = op.getLogits(), targets = op.getTargets();
  int64_t last = TensorBuilder::typeOf(logits).getRank() - 1;
  auto exchange = [&](ValueRange values, pm::ReductionKind kind) {
    auto reduce = pm::AllReduceOp::create(
        b.builder, b.loc, values.getTypes(), values,
        pm::ReductionKindAttr::get(b.builder.getContext(), kind),
        p.axesAttr(block.axes), p.mesh.symbol());
    p.setPhase(reduce);
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
  auto sums = exchange({sum, picked}, isSeeded(Fault::DroppedExchange)
                                          ? pm::ReductionKind::Max
                                          : pm::ReductionKind::Sum);
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

/// What the op's results are on a rank that has one block of the vocabulary:
/// stablehlo, and all-reduces over the axes. `op` has local types.
static SmallVector<Value> expand(Partitioner &p, Operation *op,
                                 const VocabularyBlock &block) {
  BlockBuilder b(p.builder, op->getLoc(), block);
  if (auto lookup = dyn_cast<pm::EmbeddingOp>(op))
    return {lookUp(b, lookup)};
  if (auto grad = dyn_cast<pm::EmbeddingGradOp>(op))
    // Ids of other blocks are rows that the result does not have.
    return {pm::EmbeddingGradOp::create(
        p.builder, op->getLoc(), grad.getResult().getType(),
        b.toPlaces(grad.getIds()), grad.getGrad())};
  if (auto loss = dyn_cast<pm::CrossEntropyOp>(op))
    return crossEntropy(p, b, loss, block);
  return {crossEntropyGrad(b, cast<pm::CrossEntropyGradOp>(op))};
}

/// Copies the op, and expands the copy where `vocabulary` is cut. Short blocks
/// count where `isLoss`: in a table no id names a row of the padding.
static LogicalResult convert(Partitioner &p, Operation *op, ValueRange operands,
                             const Cut &vocabulary, bool isLoss) {
  Operation *copy = p.copy(op, operands);
  if (!vocabulary.isCut()) {
    p.define(op->getResults(), copy->getResults());
    return success();
  }
  VocabularyBlock block{
      p.offsetOf(op->getLoc(), vocabulary), {}, vocabulary.axes};
  if (isLoss && vocabulary.isUneven())
    block.limit = p.limitOf(op->getLoc(), vocabulary);
  p.define(op->getResults(), expand(p, copy, block));
  copy->erase();
  return success();
}

static LogicalResult convertLookup(Partitioner &p, pm::EmbeddingOp op) {
  // It knows which rows it has, but must find one for each id.
  Value ids = p.zeroPadded(op.getIds());
  return convert(p, op, {p.local(op.getTable()), ids},
                 p.cutOf(op.getTable(), 0), /*isLoss=*/false);
}

static LogicalResult convertLookupGrad(Partitioner &p, pm::EmbeddingGradOp op) {
  return convert(p, op, p.maskedOperands(op), p.cutOf(op.getResult(), 0),
                 /*isLoss=*/false);
}

template <typename OpTy>
static LogicalResult convertLoss(Partitioner &p, OpTy op) {
  Value logits = op.getLogits();
  unsigned last = Partitioner::globalTypeOf(logits).getRank() - 1;
  return convert(p, op, p.maskedOperands(op), p.cutOf(logits, last),
                 /*isLoss=*/true);
}

void pipemesh::registerVocabularyHandlers(OpHandlers &handlers) {
  handlers.add<pm::EmbeddingOp, convertLookup>();
  handlers.add<pm::EmbeddingGradOp, convertLookupGrad>();
  handlers.add<pm::CrossEntropyOp, convertLoss<pm::CrossEntropyOp>>();
  handlers.add<pm::CrossEntropyGradOp, convertLoss<pm::CrossEntropyGradOp>>();
}
