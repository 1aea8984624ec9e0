//===- Coordinates.cpp - where a rank's block lies, and what of it exists -===//

#include "Partitioner.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

TypedAttr pipemesh::getNeutral(ReductionKind kind, Type elementType) {
  if (auto type = dyn_cast<FloatType>(elementType)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    bool isMax = kind == ReductionKind::Max;
    if (kind == ReductionKind::Sum)
      return FloatAttr::get(type, APFloat::getZero(semantics));
    // Some small formats have no infinity.
    APFloat value = APFloat::getInf(semantics, isMax);
    if (!value.isInfinity())
      value = APFloat::getLargest(semantics, isMax);
    return FloatAttr::get(type, value);
  }
  if (auto type = dyn_cast<IntegerType>(elementType)) {
    unsigned width = type.getWidth();
    bool isSigned = !type.isUnsigned() && width > 1;
    APInt value = APInt::getZero(width);
    if (kind == ReductionKind::Max)
      value = isSigned ? APInt::getSignedMinValue(width)
                       : APInt::getMinValue(width);
    else if (kind == ReductionKind::Min)
      value = isSigned ? APInt::getSignedMaxValue(width)
                       : APInt::getMaxValue(width);
    return IntegerAttr::get(type, value);
  }
  return {};
}

/// A tensor whose elements are all neutral.
static Value createNeutral(OpBuilder &builder, Location loc, ReductionKind kind,
                           RankedTensorType type) {
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    APFloat zero = APFloat::getZero(
        cast<FloatType>(complex.getElementType()).getFloatSemantics());
    return stablehlo::ConstantOp::create(
        builder, loc, type,
        DenseElementsAttr::get(type, std::complex<APFloat>(zero, zero)));
  }
  return stablehlo::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(
          type, Attribute(getNeutral(kind, type.getElementType()))));
}

Value Partitioner::zero(Location loc, Type elementType) {
  return createNeutral(builder, loc, ReductionKind::Sum,
                       RankedTensorType::get({}, elementType));
}

Value Partitioner::constantI32(Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return stablehlo::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type,
                             builder.getI32IntegerAttr(value).getValue()));
}

Value Partitioner::axisIndex(Location loc, StringAttr axis) {
  Value &index = indices[axis];
  if (!index) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    index = pm::AxisIndexOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI32Type()), axis,
        mesh.symbol());
  }
  return index;
}

Value Partitioner::blockIndex(Location loc, ArrayRef<StringAttr> axes) {
  Value block;
  Axes order(axes);
  if (isSeeded(Fault::SwappedAxes))
    std::reverse(order.begin(), order.end());
  for (StringAttr axis : order) {
    Value index = axisIndex(loc, axis);
    if (block) {
      block = stablehlo::MulOp::create(builder, loc, block,
                                       constantI32(loc, mesh.sizeOf(axis)));
      block = stablehlo::AddOp::create(builder, loc, block, index);
    } else {
      block = index;
    }
  }
  return block ? block : constantI32(loc, 0);
}

Value Partitioner::offsetOf(Location loc, const Cut &cut) {
  if (cut.axes.empty())
    return constantI32(loc, 0);
  int64_t block = cut.block - isSeeded(Fault::OffByOneBlock);
  return stablehlo::MulOp::create(builder, loc, blockIndex(loc, cut.axes),
                                  constantI32(loc, block));
}

Value Partitioner::limitOf(Location loc, const Cut &cut) {
  Value size = constantI32(loc, cut.size - isSeeded(Fault::LostLastRow) +
                                    isSeeded(Fault::OneRowTooMany));
  return stablehlo::SubtractOp::create(builder, loc, size, offsetOf(loc, cut));
}

Value Partitioner::existsAlong(Location loc, ArrayRef<int64_t> shape,
                               unsigned dim, const Cut &cut) {
  TensorBuilder b(builder, loc);
  Value limit = limitOf(loc, cut);
  Value places = b.iota(shape, builder.getI32Type(), dim);
  return b.compare(places, b.broadcast(limit, {}, shape),
                   stablehlo::ComparisonDirection::LT);
}

Value Partitioner::mask(Location loc, Value value, unsigned dim, const Cut &cut,
                        Value otherwise) {
  TensorBuilder b(builder, loc);
  ArrayRef<int64_t> shape = TensorBuilder::shapeOf(value);
  Value exists = existsAlong(loc, shape, dim, cut);
  if (otherwise.getType() != value.getType())
    otherwise = b.broadcast(otherwise, {}, shape);
  return b.select(exists, value, otherwise);
}

Value Partitioner::mask(Location loc, Value value, unsigned dim, const Cut &cut,
                        ReductionKind kind) {
  if (isSeeded(Fault::DroppedMask))
    return value;
  if (isSeeded(Fault::WrongNeutral))
    kind = ReductionKind::Sum;
  TensorBuilder b(builder, loc);
  auto type = TensorBuilder::typeOf(value);
  Value exists = existsAlong(loc, type.getShape(), dim, cut);
  return b.select(exists, value, createNeutral(builder, loc, kind, type));
}

Value Partitioner::zeroPadded(Value original) {
  Value value = local(original);
  if (!mayHoldGarbage(original))
    return value;
  for (auto [dim, cut] : llvm::enumerate(cutsOf(original)))
    if (cut.isUneven())
      value = mask(original.getLoc(), value, dim, cut, ReductionKind::Sum);
  return value;
}

Value Partitioner::sliceWindows(Location loc, Value value,
                                ArrayRef<Window> windows) {
  auto type = TensorBuilder::typeOf(value);
  SmallVector<int64_t> sizes, low(windows.size(), 0), high;
  SmallVector<Value> starts;
  for (const auto &[before, after] : windows) {
    sizes.push_back(after.block);
    bool same = before.axes == after.axes && before.block == after.block;
    ArrayRef<StringAttr> outer = before.axes, axes = after.axes;
    if (same || (axes.size() > outer.size() &&
                 axes.take_front(outer.size()) == outer)) {
      // Blocks within the block.
      Cut inner = after;
      inner.axes.assign(axes.begin() + outer.size(), axes.end());
      int64_t blocks = after.blocks / before.blocks;
      high.push_back(std::max<int64_t>(0, after.block * blocks - before.block));
      starts.push_back(offsetOf(loc, inner));
      continue;
    }
    // Other axes: the rank has it, if there is any, wherever it lies.
    high.push_back(after.block);
    starts.push_back(stablehlo::SubtractOp::create(
        builder, loc, offsetOf(loc, after), offsetOf(loc, before)));
  }
  if (llvm::any_of(high, [](int64_t size) { return size > 0; }))
    value = stablehlo::PadOp::create(
        builder, loc, value,
        zero(loc, type.getElementType()),
        low, high, low);
  return stablehlo::DynamicSliceOp::create(builder, loc, type.clone(sizes),
                                           value, starts,
                                           builder.getDenseI64ArrayAttr(sizes));
}

Value Partitioner::onlyOnFirst(Location loc, Value value,
                               ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return value;
  TensorBuilder b(builder, loc);
  auto type = TensorBuilder::typeOf(value);
  Value isFirst = b.compare(blockIndex(loc, axes), constantI32(loc, 0),
                            stablehlo::ComparisonDirection::EQ);
  return b.select(isFirst, value,
                  createNeutral(builder, loc, ReductionKind::Sum, type));
}

Value Partitioner::sliceBlock(Location loc, Value whole, ArrayRef<Cut> cuts) {
  if (llvm::none_of(cuts, [](const Cut &cut) { return cut.isCut(); }))
    return whole;
  auto type = TensorBuilder::typeOf(whole);
  SmallVector<int64_t> sizes, low(cuts.size(), 0), high;
  SmallVector<Value> starts;
  for (const Cut &cut : cuts) {
    sizes.push_back(cut.block);
    high.push_back(cut.block * cut.blocks - cut.size);
    starts.push_back(isSeeded(Fault::FirstBlock) ? constantI32(loc, 0)
                                                 : offsetOf(loc, cut));
  }
  if (llvm::any_of(high, [](int64_t size) { return size > 0; })) {
    whole = stablehlo::PadOp::create(
        builder, loc, whole,
        zero(loc, type.getElementType()),
        low, high, low);
  }
  return stablehlo::DynamicSliceOp::create(builder, loc, type.clone(sizes),
                                           whole, starts,
                                           builder.getDenseI64ArrayAttr(sizes));
}
