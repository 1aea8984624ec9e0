//===- SpecialOps.cpp - special functions that the C library lacks --------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include <limits>

using namespace mlir;
using namespace pipemesh;

namespace {

/// Short forms on float64, scalars or vectors.
struct Math {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value number(double value) { return emitConstant(builder, loc, type, value); }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value neg(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  }
  Value choose(Value predicate, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, predicate, a, b);
  }
  Value call(StringRef name, Value x) {
    return emitLibraryCall(builder, loc, name, x);
  }
  Value horner(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = add(mul(sum, x), number(coefficient));
    return sum;
  }
};

} // namespace

/// Giles' approximation ("Approximating the erfinv function", GPU Computing
/// Gems 2, 2011) and two Newton steps.
static Value emitErfInv(Math m, Value x) {
  Value one = m.number(1), minusOne = m.number(-1);
  Value w = m.neg(m.call("log1p", m.neg(m.mul(x, x))));
  Value near = m.horner(
      m.sub(w, m.number(2.5)),
      {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
       0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  Value root = math::SqrtOp::create(m.builder, m.loc, w);
  Value far = m.horner(
      m.sub(root, m.number(3)),
      {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
       0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  Value y = m.mul(m.choose(m.less(w, m.number(5)), near, far), x);
  constexpr double slope = 1.1283791670955126; // 2 / sqrt(pi)
  for (int step = 0; step < 2; ++step) {
    // erf(y) - x; where erf is near 1, erfc keeps the digits.
    Value high = m.sub(m.sub(one, x), m.call("erfc", y));
    Value low = m.sub(m.call("erfc", m.neg(y)), m.add(one, x));
    Value middle = m.sub(m.call("erf", y), x);
    Value error = m.choose(m.less(m.number(0.5), x), high,
                           m.choose(m.less(x, m.number(-0.5)), low, middle));
    Value gradient =
        m.mul(m.number(slope), m.call("exp", m.neg(m.mul(y, y))));
    y = m.sub(y, m.div(error, gradient));
  }
  double infinity = std::numeric_limits<double>::infinity();
  Value inside = math::AbsFOp::create(m.builder, m.loc, x);
  y = m.choose(m.less(inside, one), y,
               m.number(std::numeric_limits<double>::quiet_NaN()));
  y = m.choose(m.equal(x, one), m.number(infinity), y);
  return m.choose(m.equal(x, minusOne), m.number(-infinity), y);
}

/// The reflection for numbers up to 0, ten steps of the recurrence, and the
/// asymptotic series (Abramowitz and Stegun, 6.3.18).
static Value emitDigamma(Math m, Value x) {
  Value zero = m.number(0), one = m.number(1);
  Value isNegative = arith::CmpFOp::create(m.builder, m.loc,
                                           arith::CmpFPredicate::OLE, x, zero);
  Value y = m.choose(isNegative, m.sub(one, x), x);
  Value sum = zero;
  for (int step = 0; step < 10; ++step) {
    sum = m.sub(sum, m.div(one, y));
    y = m.add(y, one);
  }
  Value square = m.div(one, m.mul(y, y));
  Value series = m.mul(square, m.horner(square, {1.0 / 132, -1.0 / 240,
                                                 1.0 / 252, -1.0 / 120,
                                                 1.0 / 12}));
  Value value = m.sub(
      m.sub(m.add(sum, m.call("log", y)), m.div(m.number(0.5), y)), series);
  Value pi = m.number(3.14159265358979323846);
  Value reflected = m.sub(value, m.div(pi, m.call("tan", m.mul(pi, x))));
  value = m.choose(isNegative, reflected, value);
  Value whole = math::FloorOp::create(m.builder, m.loc, x);
  Value isPole = arith::AndIOp::create(m.builder, m.loc, isNegative,
                                       m.equal(x, whole));
  return m.choose(isPole, m.number(std::numeric_limits<double>::quiet_NaN()),
                  value);
}

Value pipemesh::emitSpecial(OpBuilder &builder, Operation *op, Value x) {
  Location loc = op->getLoc();
  Type type = x.getType(), wide = builder.getF64Type();
  if (auto vector = dyn_cast<VectorType>(type))
    wide = vector.clone(wide);
  if (type != wide)
    x = arith::ExtFOp::create(builder, loc, wide, x);
  Math math{builder, loc, wide};
  Value result;
  if (isa<chlo::ErfInvOp>(op))
    result = emitErfInv(math, x);
  else if (isa<chlo::DigammaOp>(op))
    result = emitDigamma(math, x);
  if (result && type != wide)
    result = arith::TruncFOp::create(builder, loc, type, result);
  return result;
}
