//===- Tensor.cpp - values of the reference interpreter -------------------===//

#include "pipemesh/Verify/Tensor.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

using namespace mlir;

namespace pipemesh::interp {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

IntegerFormat IntegerFormat::get(Type elementType) {
  if (auto type = dyn_cast<IntegerType>(elementType))
    return {type.getWidth(), type.isUnsigned() || type.getWidth() == 1};
  return {64, false};
}

int64_t IntegerFormat::wrap(int64_t value) const {
  if (width >= 64)
    return value;
  uint64_t mask = (uint64_t(1) << width) - 1;
  uint64_t low = uint64_t(value) & mask;
  if (!isUnsigned && (low >> (width - 1)))
    low |= ~mask;
  return int64_t(low);
}

double IntegerFormat::toDouble(int64_t value) const {
  return isUnsigned ? double(uint64_t(value)) : double(value);
}

int64_t IntegerFormat::fromDouble(double value) const {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  unsigned valueBits = isUnsigned ? width : width - 1;
  double limit = std::ldexp(1.0, valueBits);
  if (value >= limit)
    return valueBits == 64 ? -1
                           : int64_t((uint64_t(1) << valueBits) - 1);
  double low = isUnsigned ? 0.0 : -limit;
  if (value <= low)
    return isUnsigned ? 0 : int64_t(-(uint64_t(1) << valueBits));
  return valueBits == 64 ? int64_t(uint64_t(value)) : int64_t(value);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

bool Tensor::isSupported(Type elementType) {
  if (auto type = dyn_cast<IntegerType>(elementType))
    return type.getWidth() <= 64;
  return isa<FloatType>(elementType);
}

Tensor::Tensor(RankedTensorType type)
    : type(type), storage(std::make_shared<Storage>()) {
  if (isFloat() || isComplex())
    storage->floats.resize(type.getNumElements() * (isComplex() ? 2 : 1));
  else
    storage->ints.resize(type.getNumElements());
}

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

Tensor Tensor::fromAttribute(ElementsAttr elements) {
  auto type = cast<RankedTensorType>(elements.getType());
  Tensor result(type);
  if (result.isFloat()) {
    double *out = result.floats();
    if (elements.isSplat()) {
      std::fill_n(out, result.size(),
                  toDouble(elements.getSplatValue<APFloat>()));
    } else if (auto dense = dyn_cast<DenseElementsAttr>(elements);
               dense && type.getElementType().isF32()) {
      for (float value : dense.getValues<float>())
        *out++ = value;
    } else {
      for (APFloat value : elements.getValues<APFloat>())
        *out++ = toDouble(value);
    }
    return result;
  }
  if (result.isComplex()) {
    double *out = result.floats();
    if (elements.isSplat()) {
      auto value = elements.getSplatValue<std::complex<APFloat>>();
      for (int64_t i = 0, e = result.size(); i < e; ++i) {
        *out++ = toDouble(value.real());
        *out++ = toDouble(value.imag());
      }
      return result;
    }
    for (std::complex<APFloat> value :
         elements.getValues<std::complex<APFloat>>()) {
      *out++ = toDouble(value.real());
      *out++ = toDouble(value.imag());
    }
    return result;
  }
  IntegerFormat format = IntegerFormat::get(type.getElementType());
  auto get = [&](const APInt &value) {
    return format.wrap(int64_t(value.getZExtValue()));
  };
  int64_t *out = result.ints();
  if (elements.isSplat())
    std::fill_n(out, result.size(), get(elements.getSplatValue<APInt>()));
  else
    for (const APInt &value : elements.getValues<APInt>())
      *out++ = get(value);
  return result;
}

Tensor Tensor::splat(RankedTensorType type, double value) {
  Tensor result(type);
  if (result.isComplex())
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      result.floats()[2 * i] = value;
  else if (result.isFloat())
    std::fill_n(result.floats(), result.size(), value);
  else
    std::fill_n(result.ints(), result.size(),
                IntegerFormat::get(type.getElementType()).fromDouble(value));
  return result;
}

Tensor Tensor::poison(RankedTensorType type) {
  if (isa<FloatType, ComplexType>(type.getElementType()))
    return splat(type, std::numeric_limits<double>::quiet_NaN());
  // Large and odd, by turns of either sign: one of them shows in a minimum, the
  // other in a maximum. Of booleans true and false.
  Tensor result(type);
  if (result.isFloat())
    return result;
  IntegerFormat format = IntegerFormat::get(type.getElementType());
  unsigned bits = std::min(format.width, 63u);
  int64_t high = (int64_t(1) << (bits - (format.isUnsigned ? 0 : 1))) - 1;
  int64_t other = !format.isUnsigned ? -high : high / 2;
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.ints()[i] = format.wrap(i % 2 ? other : high);
  return result;
}

double Tensor::asDouble(int64_t index) const {
  if (isComplex())
    return storage->floats[2 * index];
  return isFloat() ? storage->floats[index]
                   : IntegerFormat::get(getElementType())
                         .toDouble(storage->ints[index]);
}

Tensor Tensor::withType(RankedTensorType newType) const {
  assert(newType.getNumElements() == size() && "another number of elements");
  Tensor result;
  result.type = newType;
  result.storage = storage;
  return result;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  return withType(RankedTensorType::get(shape, getElementType()));
}

Tensor Tensor::clone() const {
  Tensor result;
  result.type = type;
  result.storage = std::make_shared<Storage>(*storage);
  return result;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

template <typename T>
static void copyElements(ArrayRef<int64_t> shape, const T *from,
                         ArrayRef<int64_t> fromStrides, T *to,
                         ArrayRef<int64_t> toStrides) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  int64_t count = shape.front();
  if (shape.size() == 1) {
    int64_t s = fromStrides[0], t = toStrides[0];
    if (s == 1 && t == 1)
      std::memcpy(to, from, count * sizeof(T));
    else
      for (int64_t i = 0; i < count; ++i)
        to[i * t] = from[i * s];
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    copyElements(shape.drop_front(), from + i * fromStrides[0],
                 fromStrides.drop_front(), to + i * toStrides[0],
                 toStrides.drop_front());
}

void copyBox(ArrayRef<int64_t> shape, const Tensor &from,
             const StridedBox &fromBox, Tensor &to, const StridedBox &toBox) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  if (from.isComplex()) {
    // A complex element is a box of two.
    SmallVector<int64_t> pairs(shape), fromStrides, toStrides;
    pairs.push_back(2);
    for (int64_t stride : fromBox.strides)
      fromStrides.push_back(2 * stride);
    for (int64_t stride : toBox.strides)
      toStrides.push_back(2 * stride);
    fromStrides.push_back(1);
    toStrides.push_back(1);
    copyElements(ArrayRef(pairs), from.floats() + 2 * fromBox.offset,
                 ArrayRef(fromStrides), to.floats() + 2 * toBox.offset,
                 ArrayRef(toStrides));
    return;
  }
  if (from.isFloat())
    copyElements(shape, from.floats() + fromBox.offset,
                 ArrayRef(fromBox.strides), to.floats() + toBox.offset,
                 ArrayRef(toBox.strides));
  else
    copyElements(shape, from.ints() + fromBox.offset,
                 ArrayRef(fromBox.strides), to.ints() + toBox.offset,
                 ArrayRef(toBox.strides));
}

} // namespace pipemesh::interp
