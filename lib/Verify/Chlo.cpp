//===- Chlo.cpp - evaluation of chlo ops ----------------------------------===//

#include "Elementwise.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace pipemesh::interp {

static double acosOf(double x) { return std::acos(x); }
static double acoshOf(double x) { return std::acosh(x); }
static double asinOf(double x) { return std::asin(x); }
static double asinhOf(double x) { return std::asinh(x); }
static double atanOf(double x) { return std::atan(x); }
static double atanhOf(double x) { return std::atanh(x); }
static double coshOf(double x) { return std::cosh(x); }
static double erfOf(double x) { return std::erf(x); }
static double erfcOf(double x) { return std::erfc(x); }
static double sinhOf(double x) { return std::sinh(x); }

/// std::lgamma writes a global; this one is of one's own.
static double lgammaOf(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

/// The reflection for negative arguments, the recurrence up to 10, and there the
/// asymptotic series (Abramowitz and Stegun, 6.3.18).
static double digammaOf(double x) {
  if (x <= 0) {
    if (x == std::floor(x))
      return std::numeric_limits<double>::quiet_NaN();
    constexpr double pi = 3.14159265358979323846;
    return digammaOf(1 - x) - pi / std::tan(pi * x);
  }
  double sum = 0;
  for (; x < 10; x += 1)
    sum -= 1 / x;
  double square = 1 / (x * x);
  double series =
      square *
      (1.0 / 12 -
       square * (1.0 / 120 -
                 square * (1.0 / 252 -
                           square * (1.0 / 240 - square * (1.0 / 132)))));
  return sum + std::log(x) - 0.5 / x - series;
}

/// Giles' approximation ("Approximating the erfinv function", GPU Computing
/// Gems 2, 2011) and two Newton steps.
static double erfInvOf(double x) {
  if (!(std::fabs(x) < 1))
    return std::fabs(x) == 1
               ? std::copysign(std::numeric_limits<double>::infinity(), x)
               : std::numeric_limits<double>::quiet_NaN();
  double w = -std::log1p(-x * x), p;
  if (w < 5) {
    w -= 2.5;
    p = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                     0.00021858087, -0.00125372503, -0.00417768164, 0.246640727,
                     1.50140941})
      p = p * w + c;
  } else {
    w = std::sqrt(w) - 3;
    p = -0.000200214257;
    for (double c : {0.000100950558, 0.00134934322, -0.00367342844,
                     0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
                     2.83297682})
      p = p * w + c;
  }
  double y = p * x;
  constexpr double slope = 1.1283791670955126; // 2 / sqrt(pi)
  for (int i = 0; i < 2; ++i) {
    // erf(y) - x; where erf is near 1, erfc keeps the digits.
    double error = x > 0.5    ? (1 - x) - std::erfc(y)
                   : x < -0.5 ? std::erfc(-y) - (1 + x)
                              : std::erf(y) - x;
    y -= error / (slope * std::exp(-y * y));
  }
  return y;
}

/// The neighbour in the format of the elements, of which a double is a number.
static LogicalResult nextAfter(LocalCall &call) {
  Tensor result(call.getElementwiseType());
  const Tensor &x = call.operands[0], &y = call.operands[1];
  const llvm::fltSemantics &semantics =
      cast<FloatType>(result.getElementType()).getFloatSemantics();
  int64_t strideX = x.getRank() == result.getRank();
  int64_t strideY = y.getRank() == result.getRank();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    double from = x.floats()[i * strideX], to = y.floats()[i * strideY];
    if (std::isnan(from) || std::isnan(to) || from == to) {
      result.floats()[i] = std::isnan(from) ? from : to;
      continue;
    }
    APFloat value(from);
    bool inexact;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
    value.next(/*nextDown=*/to < from);
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &inexact);
    result.floats()[i] = value.convertToDouble();
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult square(LocalCall &call) {
  const Tensor &x = call.operands[0];
  if (x.isComplex())
    return evaluateComplex(call);
  Tensor result(call.getElementwiseType());
  IntegerFormat format = IntegerFormat::get(x.getElementType());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (x.isFloat())
      result.floats()[i] = x.floats()[i] * x.floats()[i];
    else
      result.ints()[i] =
          format.wrap(int64_t(uint64_t(x.asInt(i)) * uint64_t(x.asInt(i))));
  }
  call.results.push_back(result);
  return success();
}

static LogicalResult topK(LocalCall &call) {
  const Tensor &x = call.operands[0];
  int64_t columns = x.getShape().back();
  int64_t k = cast<chlo::TopKOp>(call.op).getK();
  Tensor values(call.getResultType(0)), indices(call.getResultType(1));
  IntegerFormat format = IntegerFormat::get(x.getElementType());
  int64_t rows = columns ? x.size() / columns : 0;
  std::vector<int64_t> order(columns);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row * columns;
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](int64_t a, int64_t b) {
      if (x.isFloat()) {
        int total =
            compareTotal(x.floats()[first + a], x.floats()[first + b]);
        return total ? total > 0 : a < b;
      }
      int64_t left = x.asInt(first + a), right = x.asInt(first + b);
      if (left == right)
        return a < b;
      return format.isUnsigned ? uint64_t(left) > uint64_t(right)
                               : left > right;
    });
    for (int64_t i = 0; i < k; ++i) {
      copyBox({}, x, {first + order[i], {}}, values, {row * k + i, {}});
      indices.ints()[row * k + i] = order[i];
    }
  }
  call.results.push_back(values);
  call.results.push_back(indices);
  return success();
}

void registerChloOps(OpRegistry &registry) {
  auto add = [&](StringRef name, LocalHandler handler) {
    registry.addElementwise(("chlo." + name).str(), handler);
  };
  add("acos", unaryFloat<acosOf>);
  add("acosh", unaryFloat<acoshOf>);
  add("asin", unaryFloat<asinOf>);
  add("asinh", unaryFloat<asinhOf>);
  add("atan", unaryFloat<atanOf>);
  add("atanh", unaryFloat<atanhOf>);
  add("cosh", unaryFloat<coshOf>);
  add("digamma", unaryFloat<digammaOf>);
  add("erf", unaryFloat<erfOf>);
  add("erfc", unaryFloat<erfcOf>);
  add("erf_inv", unaryFloat<erfInvOf>);
  add("lgamma", unaryFloat<lgammaOf>);
  add("sinh", unaryFloat<sinhOf>);
  add("square", square);
  add("next_after", nextAfter);
  registry.addLocal("chlo.top_k", topK);
}

} // namespace pipemesh::interp
