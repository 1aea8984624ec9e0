//===- TensorBuilder.cpp --------------------------------------------------===//

#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

static DenseElementsAttr splatAttr(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return DenseElementsAttr::get(type, Attribute(FloatAttr::get(element, value)));
  return DenseElementsAttr::get(
      type, Attribute(IntegerAttr::get(element, static_cast<int64_t>(value))));
}

Value TensorBuilder::scalar(double value, Type elementType) {
  return splat(value, RankedTensorType::get({}, elementType));
}

Value TensorBuilder::splat(double value, Value like) {
  return splat(value, typeOf(like));
}

Value TensorBuilder::splat(double value, RankedTensorType type) {
  return ConstantOp::create(builder, loc, splatAttr(type, value));
}

Value TensorBuilder::broadcast(Value value, ArrayRef<int64_t> dims,
                               ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  return BroadcastInDimOp::create(builder, loc, type, value, dims);
}

Value TensorBuilder::broadcastLeading(Value value, Value like) {
  SmallVector<int64_t> dims(typeOf(value).getRank());
  for (auto [i, dim] : llvm::enumerate(dims))
    dim = i;
  return broadcast(value, dims, shapeOf(like));
}

Value TensorBuilder::broadcastTrailing(Value value, Value like) {
  int64_t rank = typeOf(value).getRank();
  int64_t offset = typeOf(like).getRank() - rank;
  SmallVector<int64_t> dims(rank);
  for (auto [i, dim] : llvm::enumerate(dims))
    dim = offset + i;
  return broadcast(value, dims, shapeOf(like));
}

Value TensorBuilder::reduceSum(Value value, ArrayRef<int64_t> dims) {
  Value init = scalar(0.0, typeOf(value).getElementType());
  return ReduceOp::create(builder, loc, value, init, dims, "stablehlo.add")
      ->getResult(0);
}

Value TensorBuilder::reduceMax(Value value, ArrayRef<int64_t> dims) {
  Value init =
      scalar(-std::numeric_limits<double>::infinity(), typeOf(value).getElementType());
  return ReduceOp::create(builder, loc, value, init, dims, "stablehlo.maximum")
      ->getResult(0);
}

Value TensorBuilder::meanLast(Value value) {
  Value sum = sumLast(value);
  return mul(sum, splat(1.0 / shapeOf(value).back(), sum));
}

Value TensorBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return ReshapeOp::create(builder, loc, value, shape);
}

Value TensorBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  return TransposeOp::create(builder, loc, value, permutation);
}

Value TensorBuilder::slice(Value value, int64_t dim, int64_t start,
                           int64_t limit) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape),
      strides(shape.size(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  return SliceOp::create(builder, loc, value, starts, limits, strides);
}

Value TensorBuilder::concat(ArrayRef<Value> values, int64_t dim) {
  return ConcatenateOp::create(builder, loc, ValueRange(values), dim);
}

Value TensorBuilder::convert(Value value, Type elementType) {
  if (typeOf(value).getElementType() == elementType)
    return value;
  return ConvertOp::create(builder, loc, value, elementType);
}

Value TensorBuilder::compare(Value a, Value b, ComparisonDirection direction) {
  return CompareOp::create(builder, loc, a, b, direction);
}

Value TensorBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, predicate, onTrue, onFalse);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type elementType,
                          int64_t dim) {
  return IotaOp::create(builder, loc, RankedTensorType::get(shape, elementType),
                        dim);
}

Value TensorBuilder::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatching,
                         ArrayRef<int64_t> rhsBatching,
                         ArrayRef<int64_t> lhsContracting,
                         ArrayRef<int64_t> rhsContracting) {
  return DotGeneralOp::create(builder, loc, lhs, rhs, lhsBatching, rhsBatching,
                              lhsContracting, rhsContracting);
}
