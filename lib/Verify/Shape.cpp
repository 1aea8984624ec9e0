//===- Shape.cpp - evaluation of ops that make and move elements ----------===//
//
// Nearly all of them are copies of a box between two layouts.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <cstring>

using namespace mlir;

namespace pipemesh::interp {

static LogicalResult constant(LocalCall &call) {
  auto value = cast<stablehlo::ConstantOp>(call.op).getValue();
  call.results.push_back(Tensor::fromAttribute(value));
  return success();
}

static LogicalResult iota(LocalCall &call) {
  Tensor result(call.getResultType());
  int64_t dim = cast<stablehlo::IotaOp>(call.op).getIotaDimension();
  int64_t size = result.getShape()[dim];
  int64_t stride = getStrides(result.getShape())[dim];
  IntegerFormat format = IntegerFormat::get(result.getElementType());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    int64_t index = i / stride % size;
    if (result.isComplex())
      result.floats()[2 * i] = index;
    else if (result.isFloat())
      result.floats()[i] = index;
    else
      result.ints()[i] = format.wrap(index);
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult broadcastInDim(LocalCall &call) {
  auto op = cast<stablehlo::BroadcastInDimOp>(call.op);
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  SmallVector<int64_t> from(result.getRank(), 0);
  SmallVector<int64_t> strides = getStrides(x.getShape());
  for (auto [i, dim] : llvm::enumerate(op.getBroadcastDimensions()))
    if (x.getShape()[i] != 1)
      from[dim] = strides[i];
  copyBox(result.getShape(), x, {0, from}, result,
          {0, getStrides(result.getShape())});
  call.results.push_back(result);
  return success();
}

static LogicalResult reshape(LocalCall &call) {
  call.results.push_back(call.operands[0].withType(call.getResultType()));
  return success();
}

static LogicalResult transpose(LocalCall &call) {
  auto op = cast<stablehlo::TransposeOp>(call.op);
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  SmallVector<int64_t> strides = getStrides(x.getShape()), from;
  for (int64_t dim : op.getPermutation())
    from.push_back(strides[dim]);
  copyBox(result.getShape(), x, {0, from}, result,
          {0, getStrides(result.getShape())});
  call.results.push_back(result);
  return success();
}

static LogicalResult reverse(LocalCall &call) {
  auto op = cast<stablehlo::ReverseOp>(call.op);
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  StridedBox from{0, getStrides(x.getShape())};
  for (int64_t dim : op.getDimensions()) {
    from.offset += (x.getShape()[dim] - 1) * from.strides[dim];
    from.strides[dim] = -from.strides[dim];
  }
  copyBox(result.getShape(), x, from, result,
          {0, getStrides(result.getShape())});
  call.results.push_back(result);
  return success();
}

static LogicalResult concatenate(LocalCall &call) {
  int64_t dim = cast<stablehlo::ConcatenateOp>(call.op).getDimension();
  Tensor result(call.getResultType());
  StridedBox to{0, getStrides(result.getShape())};
  for (const Tensor &x : call.operands) {
    copyBox(x.getShape(), x, {0, getStrides(x.getShape())}, result, to);
    to.offset += x.getShape()[dim] * to.strides[dim];
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult pad(LocalCall &call) {
  auto op = cast<stablehlo::PadOp>(call.op);
  const Tensor &x = call.operands[0], &value = call.operands[1];
  Tensor result(call.getResultType());
  SmallVector<int64_t> zeros(result.getRank(), 0);
  StridedBox to{0, getStrides(result.getShape())};
  copyBox(result.getShape(), value, {0, zeros}, result, to);

  // Negative edges cut elements off: keep the range that lies inside.
  StridedBox from{0, getStrides(x.getShape())};
  SmallVector<int64_t> box;
  for (int64_t d = 0; d < result.getRank(); ++d) {
    int64_t step = op.getInteriorPadding()[d] + 1;
    int64_t low = op.getEdgePaddingLow()[d];
    int64_t size = x.getShape()[d], space = result.getShape()[d];
    int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    int64_t end =
        space <= low ? 0 : std::min(size, (space - low + step - 1) / step);
    box.push_back(std::max<int64_t>(0, end - first));
    from.offset += first * from.strides[d];
    to.offset += (low + first * step) * to.strides[d];
    to.strides[d] *= step;
  }
  copyBox(box, x, from, result, to);
  call.results.push_back(result);
  return success();
}

static LogicalResult slice(LocalCall &call) {
  auto op = cast<stablehlo::SliceOp>(call.op);
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  StridedBox from{0, getStrides(x.getShape())};
  for (int64_t d = 0; d < x.getRank(); ++d) {
    from.offset += op.getStartIndices()[d] * from.strides[d];
    from.strides[d] *= op.getStrides()[d];
  }
  copyBox(result.getShape(), x, from, result,
          {0, getStrides(result.getShape())});
  call.results.push_back(result);
  return success();
}

/// Where a box of `sizes` starts in `x`, clamped so that it lies inside.
static StridedBox clampedBox(const Tensor &x, ArrayRef<Tensor> starts,
                             ArrayRef<int64_t> sizes) {
  StridedBox box{0, getStrides(x.getShape())};
  for (auto [d, start] : llvm::enumerate(starts)) {
    int64_t last = x.getShape()[d] - sizes[d];
    IntegerFormat format = IntegerFormat::get(start.getElementType());
    int64_t index = start.asInt(0);
    index = format.isUnsigned && index < 0
                ? last
                : std::clamp<int64_t>(index, 0, last);
    box.offset += index * box.strides[d];
  }
  return box;
}

static LogicalResult dynamicSlice(LocalCall &call) {
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  copyBox(result.getShape(), x,
          clampedBox(x, call.operands.drop_front(), result.getShape()), result,
          {0, getStrides(result.getShape())});
  call.results.push_back(result);
  return success();
}

static LogicalResult dynamicUpdateSlice(LocalCall &call) {
  const Tensor &x = call.operands[0], &update = call.operands[1];
  Tensor result = x.clone();
  copyBox(update.getShape(), update, {0, getStrides(update.getShape())}, result,
          clampedBox(x, call.operands.drop_front(2), update.getShape()));
  call.results.push_back(result);
  return success();
}

static LogicalResult identity(LocalCall &call) {
  call.results.append(call.operands.begin(), call.operands.end());
  return success();
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// The bits of an element in its own type.
static uint64_t getBits(const Tensor &x, int64_t index) {
  if (!x.isFloat())
    return uint64_t(x.asInt(index));
  auto type = cast<FloatType>(x.getElementType());
  APFloat value(x.floats()[index]);
  bool losesInfo;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

static void setBits(Tensor &x, int64_t index, uint64_t bits) {
  if (!x.isFloat()) {
    x.ints()[index] =
        IntegerFormat::get(x.getElementType()).wrap(int64_t(bits));
    return;
  }
  auto type = cast<FloatType>(x.getElementType());
  APFloat value(type.getFloatSemantics(),
                APInt(type.getWidth(), bits, /*isSigned=*/false,
                      /*implicitTrunc=*/true));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  x.floats()[index] = value.convertToDouble();
}

static LogicalResult bitcastConvert(LocalCall &call) {
  const Tensor &x = call.operands[0];
  Tensor result(call.getResultType());
  if (x.isComplex() || result.isComplex())
    return call.op->emitError("the interpreter does not cast the bits of complex "
                              "numbers");
  unsigned from = x.getElementType().getIntOrFloatBitWidth();
  unsigned to = result.getElementType().getIntOrFloatBitWidth();
  if (from > 64 || to > 64)
    return call.op->emitError("the interpreter casts the bits of elements of up "
                              "to 64 bits");
  uint64_t fromMask = from < 64 ? (uint64_t(1) << from) - 1 : ~uint64_t(0);
  if (from >= to) {
    int64_t parts = from / to;
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      setBits(result, i, (getBits(x, i / parts) & fromMask) >> (i % parts * to));
  } else {
    int64_t parts = to / from;
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      uint64_t bits = 0;
      for (int64_t part = 0; part < parts; ++part)
        bits |= (getBits(x, i * parts + part) & fromMask) << (part * from);
      setBits(result, i, bits);
    }
  }
  call.results.push_back(result);
  return success();
}

void registerShapeOps(OpRegistry &registry) {
  auto add = [&](StringRef name, LocalHandler handler) {
    registry.addLocal(("stablehlo." + name).str(), handler);
  };
  add("constant", constant);
  add("iota", iota);
  add("broadcast_in_dim", broadcastInDim);
  add("reshape", reshape);
  add("transpose", transpose);
  add("reverse", reverse);
  add("concatenate", concatenate);
  add("pad", pad);
  add("slice", slice);
  add("dynamic_slice", dynamicSlice);
  add("dynamic_update_slice", dynamicUpdateSlice);
  add("bitcast_convert", bitcastConvert);
  registry.addElementwise("stablehlo.optimization_barrier", identity);
}

} // namespace pipemesh::interp
