//===- GradientBuilder.cpp ------------------------------------------------===//

#include "GradientBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace pipemesh;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool pipemesh::carriesGradient(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

std::optional<double> pipemesh::getSplat(Value value) {
  while (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<FloatAttr>().getValueAsDouble();
}

Value GradientBuilder::splat(Type like, double value) {
  auto type = cast<RankedTensorType>(like);
  auto element = FloatAttr::get(type.getElementType(), value);
  return stablehlo::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, element));
}

Value GradientBuilder::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  if (getSplat(a) == 0.0)
    return b;
  if (getSplat(b) == 0.0)
    return a;
  return stablehlo::AddOp::create(builder, loc, a, b);
}

Value GradientBuilder::subtract(Value a, Value b) {
  if (!b)
    return a;
  if (!a)
    return negate(b);
  return stablehlo::SubtractOp::create(builder, loc, a, b);
}

Value GradientBuilder::multiply(Value a, Value b) {
  if (getSplat(a) == 1.0)
    return b;
  if (getSplat(b) == 1.0)
    return a;
  return stablehlo::MulOp::create(builder, loc, a, b);
}

Value GradientBuilder::multiply(Value a, double b) {
  if (b == 1.0)
    return a;
  if (b == -1.0)
    return negate(a);
  if (auto constant = getSplat(a))
    return splat(a.getType(), *constant * b);
  return stablehlo::MulOp::create(builder, loc, a, splat(a.getType(), b));
}

Value GradientBuilder::divide(Value a, Value b) {
  if (getSplat(b) == 1.0)
    return a;
  return stablehlo::DivOp::create(builder, loc, a, b);
}

Value GradientBuilder::negate(Value a) {
  if (auto inner = a.getDefiningOp<stablehlo::NegOp>())
    return inner.getOperand();
  if (auto constant = getSplat(a))
    return splat(a.getType(), -*constant);
  return stablehlo::NegOp::create(builder, loc, a);
}

Value GradientBuilder::compare(stablehlo::ComparisonDirection direction,
                               Value a, Value b) {
  return stablehlo::CompareOp::create(builder, loc, a, b, direction);
}

Value GradientBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return stablehlo::SelectOp::create(builder, loc, predicate, onTrue, onFalse);
}

Value GradientBuilder::convert(Value a, Type elementType) {
  if (tensorType(a).getElementType() == elementType)
    return a;
  return stablehlo::ConvertOp::create(builder, loc, a, elementType);
}

Value GradientBuilder::broadcast(Value a, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> dims) {
  auto type = RankedTensorType::get(shape, tensorType(a).getElementType());
  if (auto constant = getSplat(a))
    return splat(type, *constant);
  if (a.getType() == type &&
      llvm::equal(dims, llvm::seq<int64_t>(0, type.getRank())))
    return a;
  return stablehlo::BroadcastInDimOp::create(builder, loc, type, a, dims);
}

Value GradientBuilder::broadcastLike(Value a, Value like) {
  ArrayRef<int64_t> shape = tensorType(like).getShape();
  if (tensorType(a).getShape() == shape)
    return a;
  return broadcast(a, shape, {});
}

Value GradientBuilder::reshape(Value a, ArrayRef<int64_t> shape) {
  if (tensorType(a).getShape() == shape)
    return a;
  if (auto constant = getSplat(a))
    return splat(tensorType(a).clone(shape), *constant);
  if (auto inner = a.getDefiningOp<stablehlo::ReshapeOp>())
    return reshape(inner.getOperand(), shape);
  return stablehlo::ReshapeOp::create(builder, loc, a, shape);
}

Value GradientBuilder::transpose(Value a, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return a;
  if (auto constant = getSplat(a)) {
    SmallVector<int64_t> shape;
    for (int64_t dim : permutation)
      shape.push_back(tensorType(a).getDimSize(dim));
    return splat(tensorType(a).clone(shape), *constant);
  }
  return stablehlo::TransposeOp::create(builder, loc, a, permutation);
}

Value GradientBuilder::reduceSum(Value a, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return a;
  RankedTensorType type = tensorType(a);
  llvm::SmallBitVector reduced(type.getRank());
  for (int64_t dim : dims)
    reduced.set(dim);

  // What a broadcast repeats along a new dimension is summed by multiplying.
  llvm::SmallBitVector repeated = reduced;
  auto source = a.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (source)
    for (int64_t dim : source.getBroadcastDimensions())
      repeated.reset(dim);
  bool constant = getSplat(a).has_value();
  if (constant)
    repeated = reduced;
  if ((source || constant) && repeated.any()) {
    int64_t count = 1;
    SmallVector<int64_t> shape, position(type.getRank(), -1), left;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (repeated.test(dim)) {
        count *= type.getDimSize(dim);
        continue;
      }
      position[dim] = shape.size();
      if (reduced.test(dim))
        left.push_back(shape.size());
      shape.push_back(type.getDimSize(dim));
    }
    if (constant)
      return splat(type.clone(shape), *getSplat(a) * count);
    SmallVector<int64_t> sourceDims;
    for (int64_t dim : source.getBroadcastDimensions())
      sourceDims.push_back(position[dim]);
    Value once = multiply(source.getOperand(), count);
    return reduceSum(broadcast(once, shape, sourceDims), left);
  }

  Value zero = zeros(RankedTensorType::get({}, type.getElementType()));
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  return stablehlo::ReduceOp::create(builder, loc, a, zero, sorted,
                                     "stablehlo.add")
      ->getResult(0);
}

Value GradientBuilder::reduceSum(Value a) {
  return reduceSum(
      a, llvm::to_vector(llvm::seq<int64_t>(0, tensorType(a).getRank())));
}

Value GradientBuilder::unbroadcastScalar(Value a, Value operand) {
  return tensorType(operand).getRank() == 0 ? reduceSum(a) : a;
}
