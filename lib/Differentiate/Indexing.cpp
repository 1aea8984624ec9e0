//===- Indexing.cpp - gradients of ops with indices from tensors ----------===//

#include "Models.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

static Value dynamicSliceGradient(DynamicSliceOp op, GradientBuilder &g,
                                  unsigned, ValueRange dy) {
  return DynamicUpdateSliceOp::create(g.builder, g.loc,
                                      g.zeros(op.getOperand().getType()), dy[0],
                                      op.getStartIndices());
}

static Value dynamicUpdateSliceGradient(DynamicUpdateSliceOp op,
                                        GradientBuilder &g, unsigned operand,
                                        ValueRange dy) {
  if (operand == 0)
    return DynamicUpdateSliceOp::create(g.builder, g.loc, dy[0],
                                        g.zeros(op.getUpdate().getType()),
                                        op.getStartIndices());
  return DynamicSliceOp::create(g.builder, g.loc, dy[0], op.getStartIndices(),
                                op.getUpdate().getType().getShape());
}

/// The start indices, clamped as a gather clamps them: a scatter would leave
/// out what a gather moves inside.
static Value clampIndices(GatherOp op, GradientBuilder &g) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  RankedTensorType type = op.getStartIndices().getType();
  RankedTensorType from = op.getOperand().getType();
  auto element = cast<IntegerType>(type.getElementType());
  SmallVector<APInt> zeros, bounds;
  for (int64_t dim : numbers.getStartIndexMap()) {
    int64_t bound = from.getDimSize(dim) - op.getSliceSizes()[dim];
    // A narrow index type may not reach the bound at all.
    unsigned bits = element.getWidth() - (element.isUnsigned() ? 0 : 1);
    if (bits < 63)
      bound = std::min<int64_t>(bound, (int64_t(1) << bits) - 1);
    bounds.push_back(APInt(element.getWidth(), bound));
    zeros.push_back(APInt(element.getWidth(), 0));
  }
  auto limits = [&](ArrayRef<APInt> values) -> Value {
    bool scalar = values.size() == 1;
    auto vector = RankedTensorType::get(
        scalar ? ArrayRef<int64_t>() : ArrayRef<int64_t>(values.size()),
        element);
    Value constant = ConstantOp::create(g.builder, g.loc,
                                        DenseElementsAttr::get(vector, values));
    if (scalar)
      return constant;
    return BroadcastInDimOp::create(
        g.builder, g.loc, type, constant,
        ArrayRef<int64_t>(numbers.getIndexVectorDim()));
  };
  return ClampOp::create(g.builder, g.loc, limits(zeros), op.getStartIndices(),
                         limits(bounds));
}

/// The cotangents added up at the places that were gathered.
static Value gatherGradient(GatherOp op, GradientBuilder &g, unsigned,
                            ValueRange dy) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  auto scatterNumbers = ScatterDimensionNumbersAttr::get(
      op.getContext(), numbers.getOffsetDims(), numbers.getCollapsedSliceDims(),
      numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims(),
      numbers.getStartIndexMap(), numbers.getIndexVectorDim());
  Value indices = numbers.getStartIndexMap().empty()
                      ? Value(op.getStartIndices())
                      : clampIndices(op, g);
  RankedTensorType type = op.getOperand().getType();
  auto scatter = ScatterOp::create(
      g.builder, g.loc, TypeRange(type), ValueRange(g.zeros(type)), indices,
      ValueRange(dy[0]), scatterNumbers, /*indices_are_sorted=*/false,
      /*unique_indices=*/false);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  OpBuilder::InsertionGuard guard(g.builder);
  Block *body = g.builder.createBlock(&scatter.getUpdateComputation(), {},
                                      {scalar, scalar}, {g.loc, g.loc});
  Value sum = AddOp::create(g.builder, g.loc, body->getArgument(0),
                            body->getArgument(1));
  ReturnOp::create(g.builder, g.loc, ValueRange(sum));
  return scatter->getResult(0);
}

template <typename Op, auto Gradient> static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, Gradient>>(*context);
}

void pipemesh::attachIndexingGradients(MLIRContext *context) {
  attach<DynamicSliceOp, dynamicSliceGradient>(context);
  attach<DynamicUpdateSliceOp, dynamicUpdateSliceGradient>(context);
  attach<GatherOp, gatherGradient>(context);
}
