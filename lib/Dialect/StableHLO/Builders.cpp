// Short forms for building stablehlo ops.
#include "pipemesh/Dialect/StableHLO/Builders.h"

using namespace mlir;

namespace pipemesh::stablehlo {

static Attribute element(Type type, double value) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    APFloat rounded(value);
    bool inexact;
    rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &inexact);
    return FloatAttr::get(type, rounded);
  }
  auto integer = cast<IntegerType>(type);
  if (integer.isInteger(1))
    return IntegerAttr::get(type, APInt(1, value != 0));
  return IntegerAttr::get(type, APInt(integer.getWidth(),
                                      static_cast<int64_t>(value),
                                      /*isSigned=*/true,
                                      /*implicitTrunc=*/true));
}

Value splat(OpBuilder &builder, Location loc, RankedTensorType type,
            double value) {
  auto elements =
      DenseElementsAttr::get(type, element(type.getElementType(), value));
  return ConstantOp::create(builder, loc, cast<ElementsAttr>(elements));
}

Value scalar(OpBuilder &builder, Location loc, Type elementType, double value) {
  return splat(builder, loc, RankedTensorType::get({}, elementType), value);
}

Value broadcast(OpBuilder &builder, Location loc, Value value,
                ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return BroadcastInDimOp::create(builder, loc, type, value, dims);
}

Value reduceSum(OpBuilder &builder, Location loc, Value value,
                ArrayRef<int64_t> dims) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  Value zero = scalar(builder, loc, type, 0);
  return ReduceOp::create(builder, loc, value, zero, dims,
                          AddOp::getOperationName())
      .getResult(0);
}

Value reduceMax(OpBuilder &builder, Location loc, Value value,
                ArrayRef<int64_t> dims) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  auto scalarType = RankedTensorType::get({}, type);
  Attribute lowest;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    lowest = FloatAttr::get(
        type, APFloat::semanticsHasInf(semantics)
                  ? APFloat::getInf(semantics, /*Negative=*/true)
                  : APFloat::getLargest(semantics, /*Negative=*/true));
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool isUnsigned = type.isUnsignedInteger() || width == 1;
    lowest = IntegerAttr::get(type, isUnsigned
                                        ? APInt::getMinValue(width)
                                        : APInt::getSignedMinValue(width));
  }
  Value init = ConstantOp::create(
      builder, loc,
      cast<ElementsAttr>(DenseElementsAttr::get(scalarType, lowest)));
  return ReduceOp::create(builder, loc, value, init, dims,
                          MaxOp::getOperationName())
      .getResult(0);
}

} // namespace pipemesh::stablehlo
