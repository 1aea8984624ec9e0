//===- DecomposeRope.cpp - rotary embedding and embedding in stablehlo ----===//

#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;
using pipemesh::stablehlo::TensorBuilder;

SmallVector<Value> RopeOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value x = getInput();
  ArrayRef<int64_t> shape = TensorBuilder::shapeOf(x);
  int64_t half = shape[3] / 2;
  Value x1 = b.slice(x, 3, 0, half);
  Value x2 = b.slice(x, 3, half, shape[3]);
  Value cos = b.broadcast(getCos(), {1, 3}, TensorBuilder::shapeOf(x1));
  Value sin = b.broadcast(getSin(), {1, 3}, TensorBuilder::shapeOf(x1));
  Value cos1 = b.mul(x1, cos), sin1 = b.mul(x1, sin);
  Value cos2 = b.mul(x2, cos), sin2 = b.mul(x2, sin);
  bool inverse = getInverse();
  Value first = inverse ? b.add(cos1, sin2) : b.sub(cos1, sin2);
  Value second = inverse ? b.sub(cos2, sin1) : b.add(cos2, sin1);
  return {b.concat({first, second}, 3)};
}

/// ids of [...] as index vectors [..., 1].
static Value indexVectors(TensorBuilder &b, Value ids) {
  SmallVector<int64_t> shape(TensorBuilder::shapeOf(ids));
  shape.push_back(1);
  return b.reshape(ids, shape);
}

SmallVector<Value> EmbeddingOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  int64_t rank = TensorBuilder::typeOf(getIds()).getRank();
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(
      getContext(), /*offsetDims=*/{rank}, /*collapsedSliceDims=*/{0},
      /*operandBatchingDims=*/{}, /*startIndicesBatchingDims=*/{},
      /*startIndexMap=*/{0}, /*indexVectorDim=*/rank);
  int64_t width = TensorBuilder::shapeOf(getTable())[1];
  return {stablehlo::GatherOp::create(
      builder, getLoc(), getResult().getType(), getTable(),
      indexVectors(b, getIds()), numbers,
      builder.getDenseI64ArrayAttr({1, width}), builder.getBoolAttr(false))};
}

SmallVector<Value> EmbeddingGradOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  int64_t rank = TensorBuilder::typeOf(getIds()).getRank();
  auto type = cast<RankedTensorType>(getResult().getType());
  auto numbers = stablehlo::ScatterDimensionNumbersAttr::get(
      getContext(), /*updateWindowDims=*/{rank}, /*insertedWindowDims=*/{0},
      /*inputBatchingDims=*/{}, /*scatterIndicesBatchingDims=*/{},
      /*scatterDimsToOperandDims=*/{0}, /*indexVectorDim=*/rank);
  Value zero = b.splat(0.0, type);
  auto scatter = stablehlo::ScatterOp::create(
      builder, getLoc(), TypeRange{type}, ValueRange{zero},
      indexVectors(b, getIds()), ValueRange{getGrad()}, numbers,
      builder.getBoolAttr(false), builder.getBoolAttr(false));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&scatter.getUpdateComputation());
  auto element = RankedTensorType::get({}, type.getElementType());
  body->addArguments({element, element}, {getLoc(), getLoc()});
  Value sum = b.add(body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(builder, getLoc(), ValueRange{sum});
  return {scatter->getResult(0)};
}
