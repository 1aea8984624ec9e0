//===- Elementwise.cpp - evaluation of elementwise ops --------------------===//

#include "Elementwise.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace mlir;

namespace pipemesh::interp {

//===----------------------------------------------------------------------===//
// Real functions
//===----------------------------------------------------------------------===//

static double absOf(double x) { return std::fabs(x); }
static double afzOf(double x) { return std::round(x); }
static double tanOf(double x) { return std::tan(x); }
static double atan2Of(double a, double b) { return std::atan2(a, b); }
static double cbrtOf(double x) { return std::cbrt(x); }
static double ceilOf(double x) { return std::ceil(x); }
static double cosOf(double x) { return std::cos(x); }
static double expOf(double x) { return std::exp(x); }
static double expm1Of(double x) { return std::expm1(x); }
static double floorOf(double x) { return std::floor(x); }
static double logOf(double x) { return std::log(x); }
static double log1pOf(double x) { return std::log1p(x); }
static double logisticOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }
static double negOf(double x) { return -x; }
static double roundEvenOf(double x) { return std::nearbyint(x); }
static double rsqrtOf(double x) { return 1.0 / std::sqrt(x); }
static double signOf(double x) {
  return x > 0 ? 1.0 : x < 0 ? -1.0 : x; // keeps a signed zero and NaN
}
static double sinOf(double x) { return std::sin(x); }
static double sqrtOf(double x) { return std::sqrt(x); }
static double tanhOf(double x) { return std::tanh(x); }

static double addOf(double a, double b) { return a + b; }
static double subOf(double a, double b) { return a - b; }
static double mulOf(double a, double b) { return a * b; }
static double divOf(double a, double b) { return a / b; }
static double maxOf(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) || a < b ? b : a;
}
static double minOf(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) || b < a ? b : a;
}
static double powOf(double a, double b) { return std::pow(a, b); }
static double remOf(double a, double b) { return std::fmod(a, b); }

//===----------------------------------------------------------------------===//
// Integer functions; the caller wraps the result
//===----------------------------------------------------------------------===//

using U = uint64_t;

static int64_t iabs(int64_t x, IntegerFormat) {
  return x < 0 ? int64_t(-U(x)) : x;
}
static int64_t ineg(int64_t x, IntegerFormat) { return int64_t(-U(x)); }
static int64_t inot(int64_t x, IntegerFormat) { return ~x; }
static int64_t isign(int64_t x, IntegerFormat f) {
  return x == 0 ? 0 : x > 0 || f.isUnsigned ? 1 : -1;
}

/// The bits of an element, without those of its extension.
static U bitsOf(int64_t x, IntegerFormat f) {
  return f.width < 64 ? U(x) & ((U(1) << f.width) - 1) : U(x);
}
static int64_t ipopcnt(int64_t x, IntegerFormat f) {
  return llvm::popcount(bitsOf(x, f));
}
static int64_t iclz(int64_t x, IntegerFormat f) {
  return llvm::countl_zero(bitsOf(x, f)) - (64 - int64_t(f.width));
}

static bool isLess(int64_t a, int64_t b, IntegerFormat f) {
  return f.isUnsigned ? U(a) < U(b) : a < b;
}
static int64_t iadd(int64_t a, int64_t b, IntegerFormat f) {
  return f.width == 1 ? a | b : int64_t(U(a) + U(b));
}
static int64_t isub(int64_t a, int64_t b, IntegerFormat) {
  return int64_t(U(a) - U(b));
}
static int64_t imul(int64_t a, int64_t b, IntegerFormat) {
  return int64_t(U(a) * U(b));
}
/// Division by zero gives all ones, as XLA does.
static int64_t idiv(int64_t a, int64_t b, IntegerFormat f) {
  if (b == 0)
    return -1;
  if (f.isUnsigned)
    return int64_t(U(a) / U(b));
  return b == -1 ? int64_t(-U(a)) : a / b;
}
static int64_t irem(int64_t a, int64_t b, IntegerFormat f) {
  if (b == 0)
    return a;
  if (f.isUnsigned)
    return int64_t(U(a) % U(b));
  return b == -1 ? 0 : a % b;
}
static int64_t imax(int64_t a, int64_t b, IntegerFormat f) {
  return isLess(a, b, f) ? b : a;
}
static int64_t imin(int64_t a, int64_t b, IntegerFormat f) {
  return isLess(b, a, f) ? b : a;
}
static int64_t iand(int64_t a, int64_t b, IntegerFormat) { return a & b; }
static int64_t ior(int64_t a, int64_t b, IntegerFormat) { return a | b; }
static int64_t ixor(int64_t a, int64_t b, IntegerFormat) { return a ^ b; }
static int64_t ipow(int64_t a, int64_t b, IntegerFormat f) {
  if (!f.isUnsigned && b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  U result = 1, base = U(a);
  for (U exponent = U(b); exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return int64_t(result);
}
static bool isShiftOut(int64_t b, IntegerFormat f) {
  return U(b) >= f.width; // also a negative one
}
static int64_t ishl(int64_t a, int64_t b, IntegerFormat f) {
  return isShiftOut(b, f) ? 0 : int64_t(U(a) << b);
}
static int64_t ishra(int64_t a, int64_t b, IntegerFormat f) {
  // The sign bit of an unsigned element is its highest one.
  int64_t value = IntegerFormat{f.width, false}.wrap(a);
  return isShiftOut(b, f) ? (value < 0 ? -1 : 0) : value >> b;
}
static int64_t ishrl(int64_t a, int64_t b, IntegerFormat f) {
  U bits = f.width < 64 ? U(a) & ((U(1) << f.width) - 1) : U(a);
  return isShiftOut(b, f) ? 0 : int64_t(bits >> b);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

template <int64_t (*F)(int64_t, IntegerFormat)>
static LogicalResult unaryInteger(LocalCall &call) {
  const Tensor &x = call.operands[0];
  Tensor result(call.getElementwiseType());
  IntegerFormat format = IntegerFormat::get(result.getElementType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.ints()[i] = format.wrap(F(x.asInt(i), format));
  call.results.push_back(result);
  return success();
}

template <double (*F)(double), int64_t (*I)(int64_t, IntegerFormat)>
static LogicalResult unaryReal(LocalCall &call) {
  const Tensor &x = call.operands[0];
  return x.isFloat() || x.isComplex() ? unaryFloat<F>(call)
                                      : unaryInteger<I>(call);
}

template <int64_t (*F)(int64_t, int64_t, IntegerFormat)>
static LogicalResult binaryInteger(LocalCall &call) {
  Tensor result(call.getElementwiseType());
  IntegerFormat format = IntegerFormat::get(result.getElementType());
  const int64_t *a = call.operands[0].ints(), *b = call.operands[1].ints();
  int64_t strideA = call.operands[0].getRank() == result.getRank();
  int64_t strideB = call.operands[1].getRank() == result.getRank();
  int64_t *out = result.ints();
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    out[i] = format.wrap(F(a[i * strideA], b[i * strideB], format));
  call.results.push_back(result);
  return success();
}

template <double (*F)(double, double),
          int64_t (*I)(int64_t, int64_t, IntegerFormat)>
static LogicalResult binaryReal(LocalCall &call) {
  const Tensor &x = call.operands[0];
  return x.isFloat() || x.isComplex() ? binaryFloat<F>(call)
                                      : binaryInteger<I>(call);
}

static LogicalResult isFinite(LocalCall &call) {
  Tensor result(call.getElementwiseType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.ints()[i] = std::isfinite(call.operands[0].floats()[i]);
  call.results.push_back(result);
  return success();
}

/// To the nearest number of a format, in float64.
static double roundToFormat(double x, int exponentBits, int mantissaBits) {
  if (!std::isfinite(x) || x == 0)
    return x;
  int exponent;
  double fraction = std::frexp(x, &exponent); // in [0.5, 1)
  double scale = std::ldexp(1.0, mantissaBits + 1);
  double rounded =
      std::ldexp(std::nearbyint(fraction * scale) / scale, exponent);
  // Of a format with bias b the numbers are below 2^(b + 1), and the normal ones
  // from 2^(1 - b) on.
  int bias = (1 << (exponentBits - 1)) - 1;
  if (std::fabs(rounded) >= std::ldexp(1.0, bias + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return std::fabs(rounded) < std::ldexp(1.0, 1 - bias) ? std::copysign(0.0, x)
                                                        : rounded;
}

static LogicalResult reducePrecision(LocalCall &call) {
  auto op = cast<stablehlo::ReducePrecisionOp>(call.op);
  Tensor result(call.getElementwiseType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.floats()[i] =
        roundToFormat(std::as_const(call.operands[0]).floats()[i],
                      op.getExponentBits(), op.getMantissaBits());
  call.results.push_back(result);
  return success();
}

/// real and imag of a tensor whose elements may be real, and complex itself.
static LogicalResult parts(LocalCall &call) {
  const Tensor &x = call.operands[0];
  if (x.isFloat() && isa<stablehlo::RealOp>(call.op)) {
    call.results.push_back(x);
    return success();
  }
  Tensor result(call.getElementwiseType());
  int64_t part = isa<stablehlo::ImagOp>(call.op);
  if (x.isComplex())
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      result.floats()[i] = x.floats()[2 * i + part];
  call.results.push_back(result);
  return success();
}

static LogicalResult makeComplex(LocalCall &call) {
  Tensor result(call.getElementwiseType());
  for (int64_t part : {0, 1}) {
    const Tensor &x = call.operands[part];
    int64_t stride = x.getRank() == result.getRank();
    for (int64_t i = 0, e = result.size(); i < e; ++i)
      result.floats()[2 * i + part] = x.floats()[i * stride];
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult convert(LocalCall &call) {
  const Tensor &x = call.operands[0];
  if (Tensor result(call.getElementwiseType()); result.isComplex()) {
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      result.floats()[2 * i] = x.asDouble(i);
      result.floats()[2 * i + 1] = x.isComplex() ? x.floats()[2 * i + 1] : 0;
    }
    call.results.push_back(result);
    return success();
  }
  Tensor result(call.getElementwiseType());
  IntegerFormat to = IntegerFormat::get(result.getElementType());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (result.isFloat())
      result.floats()[i] = x.asDouble(i);
    else if (x.isFloat() || x.isComplex())
      result.ints()[i] =
          to.width == 1 ? x.asDouble(i) != 0 : to.fromDouble(x.asDouble(i));
    else
      result.ints()[i] = to.width == 1 ? x.asInt(i) != 0 : to.wrap(x.asInt(i));
  }
  call.results.push_back(result);
  return success();
}

/// -1, 0 or 1; 2 when unordered.
static int compareFloats(double a, double b) {
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

/// IEEE 754 totalOrder: the bits, read as sign and magnitude.
int compareTotal(double a, double b) {
  auto key = [](double x) {
    int64_t bits;
    static_assert(sizeof(bits) == sizeof(x));
    std::memcpy(&bits, &x, sizeof(x));
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits - 1 : bits;
  };
  int64_t keyA = key(a), keyB = key(b);
  return keyA < keyB ? -1 : keyA > keyB;
}

static LogicalResult compare(LocalCall &call) {
  auto op = cast<stablehlo::CompareOp>(call.op);
  const Tensor &a = call.operands[0], &b = call.operands[1];
  Tensor result(call.getElementwiseType());
  int64_t strideA = a.getRank() == result.getRank();
  int64_t strideB = b.getRank() == result.getRank();
  bool total = op.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  IntegerFormat format = IntegerFormat::get(a.getElementType());
  auto direction = op.getComparisonDirection();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    int order;
    if (a.isComplex()) {
      const double *x = a.floats() + 2 * i * strideA;
      const double *y = b.floats() + 2 * i * strideB;
      order = x[0] == y[0] && x[1] == y[1] ? 0 : 2;
    } else if (a.isFloat()) {
      double x = a.floats()[i * strideA], y = b.floats()[i * strideB];
      order = total ? compareTotal(x, y) : compareFloats(x, y);
    } else {
      int64_t x = a.ints()[i * strideA], y = b.ints()[i * strideB];
      order = isLess(x, y, format) ? -1 : x != y;
    }
    bool holds = false;
    switch (direction) {
    case stablehlo::ComparisonDirection::EQ: holds = order == 0; break;
    case stablehlo::ComparisonDirection::NE: holds = order != 0; break;
    case stablehlo::ComparisonDirection::LT: holds = order == -1; break;
    case stablehlo::ComparisonDirection::LE: holds = order == -1 || order == 0; break;
    case stablehlo::ComparisonDirection::GT: holds = order == 1; break;
    case stablehlo::ComparisonDirection::GE: holds = order == 1 || order == 0; break;
    }
    result.ints()[i] = holds;
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult select(LocalCall &call) {
  const Tensor &pred = call.operands[0];
  const Tensor &a = call.operands[1], &b = call.operands[2];
  Tensor result(call.getElementwiseType());
  int64_t strideP = pred.getRank() == result.getRank();
  int64_t strideA = a.getRank() == result.getRank();
  int64_t strideB = b.getRank() == result.getRank();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    bool first = pred.ints()[i * strideP];
    if (result.isComplex()) {
      const Tensor &from = first ? a : b;
      int64_t stride = first ? strideA : strideB;
      copyBox({}, from, {i * stride, {}}, result, {i, {}});
    } else if (result.isFloat())
      result.floats()[i] =
          first ? a.floats()[i * strideA] : b.floats()[i * strideB];
    else
      result.ints()[i] = first ? a.ints()[i * strideA] : b.ints()[i * strideB];
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult clamp(LocalCall &call) {
  const Tensor &low = call.operands[0], &x = call.operands[1];
  const Tensor &high = call.operands[2];
  Tensor result(call.getElementwiseType());
  IntegerFormat format = IntegerFormat::get(result.getElementType());
  int64_t strideL = low.getRank() == result.getRank();
  int64_t strideX = x.getRank() == result.getRank();
  int64_t strideH = high.getRank() == result.getRank();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (result.isFloat())
      result.floats()[i] = minOf(maxOf(x.floats()[i * strideX], low.floats()[i * strideL]),
                                 high.floats()[i * strideH]);
    else
      result.ints()[i] = imin(imax(x.ints()[i * strideX], low.ints()[i * strideL], format),
                              high.ints()[i * strideH], format);
  }
  call.results.push_back(result);
  return success();
}

void registerElementwiseOps(OpRegistry &registry) {
  auto add = [&](StringRef name, LocalHandler handler) {
    registry.addElementwise(("stablehlo." + name).str(), handler);
  };
  add("abs", unaryReal<absOf, iabs>);
  add("cbrt", unaryFloat<cbrtOf>);
  add("ceil", unaryFloat<ceilOf>);
  add("complex", makeComplex);
  add("count_leading_zeros", unaryInteger<iclz>);
  add("cosine", unaryFloat<cosOf>);
  add("exponential", unaryFloat<expOf>);
  add("exponential_minus_one", unaryFloat<expm1Of>);
  add("floor", unaryFloat<floorOf>);
  add("log", unaryFloat<logOf>);
  add("log_plus_one", unaryFloat<log1pOf>);
  add("logistic", unaryFloat<logisticOf>);
  add("negate", unaryReal<negOf, ineg>);
  add("not", unaryInteger<inot>);
  add("imag", parts);
  add("popcnt", unaryInteger<ipopcnt>);
  add("real", parts);
  add("reduce_precision", reducePrecision);
  add("round_nearest_afz", unaryFloat<afzOf>);
  add("round_nearest_even", unaryFloat<roundEvenOf>);
  add("rsqrt", unaryFloat<rsqrtOf>);
  add("sign", unaryReal<signOf, isign>);
  add("sine", unaryFloat<sinOf>);
  add("sqrt", unaryFloat<sqrtOf>);
  add("tan", unaryFloat<tanOf>);
  add("tanh", unaryFloat<tanhOf>);
  add("is_finite", isFinite);
  add("convert", convert);

  add("add", binaryReal<addOf, iadd>);
  add("and", binaryInteger<iand>);
  add("atan2", binaryFloat<atan2Of>);
  add("divide", binaryReal<divOf, idiv>);
  add("maximum", binaryReal<maxOf, imax>);
  add("minimum", binaryReal<minOf, imin>);
  add("multiply", binaryReal<mulOf, imul>);
  add("or", binaryInteger<ior>);
  add("power", binaryReal<powOf, ipow>);
  add("remainder", binaryReal<remOf, irem>);
  add("shift_left", binaryInteger<ishl>);
  add("shift_right_arithmetic", binaryInteger<ishra>);
  add("shift_right_logical", binaryInteger<ishrl>);
  add("subtract", binaryReal<subOf, isub>);
  add("xor", binaryInteger<ixor>);
  add("compare", compare);
  add("select", select);
  add("clamp", clamp);
}

} // namespace pipemesh::interp
