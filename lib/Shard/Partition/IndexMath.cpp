//===- IndexMath.cpp - indices of a whole dimension in a block ------------===//

#include "IndexMath.h"

using namespace mlir;
using namespace pipemesh;
using pipemesh::stablehlo::ComparisonDirection;

Value BlockBuilder::zeros(RankedTensorType type) {
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  if (!complex)
    return splat(0, type);
  APFloat zero = APFloat::getZero(
      cast<FloatType>(complex.getElementType()).getFloatSemantics());
  return stablehlo::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, std::complex<APFloat>(zero, zero)));
}

Value BlockBuilder::isWithin(Value value, int64_t low, int64_t high) {
  return both(compare(value, splat(low, value), ComparisonDirection::GE),
              compare(value, splat(high, value), ComparisonDirection::LT));
}

Value BlockBuilder::choose(Value predicate, Value onTrue, Value onFalse) {
  return select(broadcast(predicate, {}, shapeOf(onTrue)), onTrue, onFalse);
}

/// A number for each component, spread over indices of that type.
static Value spreadConstants(BlockBuilder &b, ArrayRef<int64_t> numbers,
                             RankedTensorType type, int64_t vectorDim) {
  if (llvm::all_equal(numbers))
    return b.splat(numbers.front(), type);
  SmallVector<APInt> values;
  for (int64_t number : numbers)
    values.push_back(
        APInt(type.getElementType().getIntOrFloatBitWidth(), number,
              /*isSigned=*/true, /*implicitTrunc=*/true));
  auto vector = RankedTensorType::get(static_cast<int64_t>(numbers.size()),
                                      type.getElementType());
  Value constant = stablehlo::ConstantOp::create(
      b.builder, b.loc, vector, DenseElementsAttr::get(vector, values));
  return b.broadcast(constant, vectorDim, type.getShape());
}

Value BlockBuilder::clampIndices(Value indices, ArrayRef<int64_t> low,
                                 ArrayRef<int64_t> high, int64_t vectorDim) {
  Type i32 = builder.getI32Type();
  auto element = cast<IntegerType>(typeOf(indices).getElementType());
  bool isUnsigned = element.isUnsigned();
  if (element.getWidth() < 32) {
    indices = convert(indices, i32);
    isUnsigned = false;
  }
  RankedTensorType type = typeOf(indices);
  bool mayBeLow = !isUnsigned;
  if (mayBeLow)
    indices = max(indices, spreadConstants(*this, low, type, vectorDim));
  indices = min(indices, spreadConstants(*this, high, type, vectorDim));
  return convert(indices, i32);
}

Value BlockBuilder::spreadComponents(ArrayRef<Value> scalars,
                                     ArrayRef<int64_t> shape,
                                     int64_t vectorDim) {
  if (scalars.size() == 1)
    return broadcast(scalars.front(), {}, shape);
  SmallVector<Value> parts;
  for (Value scalar : scalars)
    parts.push_back(reshape(scalar, {1}));
  return broadcast(concat(parts, 0), vectorDim, shape);
}

Value BlockBuilder::component(Value indices, int64_t number,
                              int64_t vectorDim) {
  SmallVector<int64_t> shape(shapeOf(indices));
  if (vectorDim >= static_cast<int64_t>(shape.size()))
    return indices;
  if (shape[vectorDim] != 1)
    indices = slice(indices, vectorDim, number, number + 1);
  shape.erase(shape.begin() + vectorDim);
  return reshape(indices, shape);
}

Value BlockBuilder::padWithZero(Value value, int64_t dim, int64_t low,
                                int64_t high) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> before(type.getRank(), 0), after(before),
      between(before);
  before[dim] = low;
  after[dim] = high;
  return stablehlo::PadOp::create(
      builder, loc, value,
      zeros(RankedTensorType::get({}, type.getElementType())), before, after,
      between);
}

Value BlockBuilder::dynamicSlice(Value value, ArrayRef<Value> starts,
                                 ArrayRef<int64_t> sizes) {
  return stablehlo::DynamicSliceOp::create(
      builder, loc, typeOf(value).clone(sizes), value, starts,
      builder.getDenseI64ArrayAttr(sizes));
}
