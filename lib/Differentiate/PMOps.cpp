//===- PMOps.cpp - gradients of the fused model ops -----------------------===//
//
// Each fused op has gradient ops of its own. They cover cotangents of the main
// result; where one flows into a saved statistic (rstd, lse, ...), the op's
// decomposition is differentiated instead.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

/// Whether a cotangent flows into the first result only.
static bool onlyMainResult(ValueRange cotangents) {
  return cotangents[0] && llvm::none_of(cotangents.drop_front(),
                                        [](Value value) { return !!value; });
}

static Value embeddingGradient(EmbeddingOp op, GradientBuilder &g, unsigned,
                               ValueRange dy) {
  Value cotangent = dy[0];
  // The padding row gets none.
  if (op.getPadding()) {
    auto ids = cast<RankedTensorType>(op.getIds().getType());
    auto shape = cast<RankedTensorType>(cotangent.getType()).getShape();
    Value padding = stablehlo::ConstantOp::create(
        g.builder, g.loc,
        DenseElementsAttr::get(ids,
                               Attribute(IntegerAttr::get(ids.getElementType(),
                                                          *op.getPadding()))));
    Value isPadding =
        g.compare(stablehlo::ComparisonDirection::EQ, op.getIds(), padding);
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, ids.getRank()));
    cotangent = g.select(g.broadcast(isPadding, shape, dims),
                         g.zeros(cotangent.getType()), cotangent);
  }
  return EmbeddingGradOp::create(g.builder, g.loc, op.getTable().getType(),
                                 op.getIds(), cotangent);
}

static FailureOr<Value> rmsNormGradient(RMSNormOp op, GradientBuilder &g,
                                        unsigned operand, ValueRange dy) {
  if (!onlyMainResult(dy))
    return buildCotangentByDecomposition(g.builder, op, operand, dy);
  Type type = op->getOperand(operand).getType();
  if (operand == 0)
    return Value(RMSNormInputGradOp::create(g.builder, g.loc, type,
                                            op.getInput(), op.getWeight(),
                                            op.getRstd(), dy[0]));
  return Value(RMSNormWeightGradOp::create(g.builder, g.loc, type,
                                           op.getInput(), op.getRstd(), dy[0]));
}

static FailureOr<Value> layerNormGradient(LayerNormOp op, GradientBuilder &g,
                                          unsigned operand, ValueRange dy) {
  if (!onlyMainResult(dy))
    return buildCotangentByDecomposition(g.builder, op, operand, dy);
  Type type = op->getOperand(operand).getType();
  if (operand == 0)
    return Value(LayerNormInputGradOp::create(
        g.builder, g.loc, type, op.getInput(), op.getWeight(), op.getMean(),
        op.getRstd(), dy[0]));
  if (operand == 1)
    return Value(LayerNormWeightGradOp::create(g.builder, g.loc, type,
                                               op.getInput(), op.getMean(),
                                               op.getRstd(), dy[0]));
  int64_t rank = cast<RankedTensorType>(op.getInput().getType()).getRank();
  return g.reduceSum(dy[0], llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)));
}

/// A rotation's transpose is the rotation by the negated angle.
static FailureOr<Value> ropeGradient(RopeOp op, GradientBuilder &g,
                                     unsigned operand, ValueRange dy) {
  if (operand != 0)
    return buildCotangentByDecomposition(g.builder, op, operand, dy);
  UnitAttr inverse = op.getInverse() ? UnitAttr() : g.builder.getUnitAttr();
  return Value(RopeOp::create(g.builder, g.loc, dy[0].getType(), dy[0],
                              op.getCos(), op.getSin(), inverse));
}

/// Three calls build three equal ops, which are merged afterwards.
static FailureOr<Value> attentionGradient(AttentionOp op, GradientBuilder &g,
                                          unsigned operand, ValueRange dy) {
  if (!onlyMainResult(dy))
    return buildCotangentByDecomposition(g.builder, op, operand, dy);
  auto gradients = AttentionGradOp::create(
      g.builder, g.loc, op.getQuery().getType(), op.getKey().getType(),
      op.getValue().getType(), op.getQuery(), op.getKey(), op.getValue(),
      op.getResult(), op.getLse(), dy[0], op.getScaleAttr(), op.getCausalAttr(),
      op.getWindowAttr());
  return Value(gradients->getResult(operand));
}

static FailureOr<Value> crossEntropyGradient(CrossEntropyOp op,
                                             GradientBuilder &g,
                                             unsigned operand, ValueRange dy) {
  if (!onlyMainResult(dy))
    return buildCotangentByDecomposition(g.builder, op, operand, dy);
  return Value(CrossEntropyGradOp::create(
      g.builder, g.loc, op.getLogits().getType(), op.getLogits(),
      op.getTargets(), op.getLse(), dy[0]));
}

/// The cotangent lies as the value does. Of a value in parts it is whole: each
/// part has the same one.
static Value constrainGradient(ConstrainOp op, GradientBuilder &g, unsigned,
                               ValueRange dy) {
  return ConstrainOp::create(g.builder, g.loc, dy[0].getType(), dy[0],
                             op.getSharding().withoutPartial());
}

template <typename Op, auto Gradient> static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, Gradient>>(*context);
}

void pipemesh::attachPMGradients(MLIRContext *context) {
  attach<AttentionOp, attentionGradient>(context);
  attach<ConstrainOp, constrainGradient>(context);
  attach<CrossEntropyOp, crossEntropyGradient>(context);
  attach<EmbeddingOp, embeddingGradient>(context);
  attach<LayerNormOp, layerNormGradient>(context);
  attach<RMSNormOp, rmsNormGradient>(context);
  attach<RopeOp, ropeGradient>(context);
}
