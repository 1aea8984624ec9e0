//===- ComplexOps.cpp - elementwise ops on complex numbers ----------------===//
//
// A complex number is a vector of two in a register. Functions are computed in
// float64 from the real ones of the C library.
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh;

namespace {

/// Real and imaginary part in float64.
struct Number {
  Value re, im;
};

class ComplexEmitter {
public:
  ComplexEmitter(OpBuilder &builder, Operation *op)
      : builder(builder), loc(op->getLoc()), f64(builder.getF64Type()) {}

  Number take(Value vector) {
    return {part(vector, 0), part(vector, 1)};
  }
  Value part(Value vector, int64_t index) {
    Value value = vector::ExtractOp::create(builder, loc, vector,
                                            ArrayRef<int64_t>{index});
    return toDouble(value);
  }
  Value toDouble(Value value) {
    return value.getType().isF64()
               ? value
               : Value(arith::ExtFOp::create(builder, loc, f64, value));
  }
  Value fromDouble(Value value, Type type) {
    return type.isF64()
               ? value
               : Value(arith::TruncFOp::create(builder, loc, type, value));
  }
  Value make(Number z, VectorType type) {
    Value result = emitConstant(builder, loc, type, 0);
    int64_t index = 0;
    for (Value value : {z.re, z.im})
      result = vector::InsertOp::create(
          builder, loc, fromDouble(value, type.getElementType()), result,
          ArrayRef<int64_t>{index++});
    return result;
  }

  Value number(double value) { return emitConstant(builder, loc, f64, value); }
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
  Value negate(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value call(StringRef name, ValueRange values) {
    return emitLibraryCall(builder, loc, name, values);
  }
  Value choose(Value predicate, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, predicate, a, b);
  }
  Value equal(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  }

  Number real(double value) { return {number(value), number(0)}; }
  Number add(Number a, Number b) { return {add(a.re, b.re), add(a.im, b.im)}; }
  Number sub(Number a, Number b) { return {sub(a.re, b.re), sub(a.im, b.im)}; }
  Number negate(Number a) { return {negate(a.re), negate(a.im)}; }
  Number mul(Number a, Number b) {
    return {sub(mul(a.re, b.re), mul(a.im, b.im)),
            add(mul(a.re, b.im), mul(a.im, b.re))};
  }
  Number div(Number a, Number b) {
    Value square = add(mul(b.re, b.re), mul(b.im, b.im));
    return {div(add(mul(a.re, b.re), mul(a.im, b.im)), square),
            div(sub(mul(a.im, b.re), mul(a.re, b.im)), square)};
  }
  Value abs(Number z) { return call("hypot", {z.re, z.im}); }
  Number exp(Number z) {
    Value size = call("exp", z.re);
    return {mul(size, call("cos", z.im)), mul(size, call("sin", z.im))};
  }
  Number log(Number z) {
    return {call("log", abs(z)), call("atan2", {z.im, z.re})};
  }
  Number pow(Number a, Number b) {
    Number power = exp(mul(b, log(a)));
    // 0^b is 0, and 1 for b = 0.
    Value zero = number(0);
    Value isZero = arith::AndIOp::create(builder, loc, equal(a.re, zero),
                                         equal(a.im, zero));
    Value isOne = arith::AndIOp::create(builder, loc, equal(b.re, zero),
                                        equal(b.im, zero));
    return {choose(isZero, choose(isOne, number(1), zero), power.re),
            choose(isZero, zero, power.im)};
  }
  /// The root with a real part that is not negative.
  Number sqrt(Number z) {
    Value size = math::AbsFOp::create(builder, loc, z.re);
    Value root = math::SqrtOp::create(
        builder, loc, mul(number(0.5), add(size, abs(z))));
    Value isZero = equal(root, number(0));
    Value other = choose(
        isZero, number(0),
        div(z.im, mul(number(2), choose(isZero, number(1), root))));
    Value isRight = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OGE, z.re, number(0));
    Value turned = math::CopySignOp::create(builder, loc, root, z.im);
    return {choose(isRight, root,
                   math::AbsFOp::create(builder, loc, other)),
            choose(isRight, other, turned)};
  }
  Number sine(Number z) {
    return {mul(call("sin", z.re), call("cosh", z.im)),
            mul(call("cos", z.re), call("sinh", z.im))};
  }
  Number cosine(Number z) {
    return {mul(call("cos", z.re), call("cosh", z.im)),
            negate(mul(call("sin", z.re), call("sinh", z.im)))};
  }

  std::optional<Number> function(Operation *op, Number a, Number b);

private:
  OpBuilder &builder;
  Location loc;
  Type f64;
};

std::optional<Number> ComplexEmitter::function(Operation *op, Number a,
                                               Number b) {
  using namespace stablehlo;
  return llvm::TypeSwitch<Operation *, std::optional<Number>>(op)
      .Case<AddOp>([&](auto) { return add(a, b); })
      .Case<SubtractOp>([&](auto) { return sub(a, b); })
      .Case<MulOp>([&](auto) { return mul(a, b); })
      .Case<DivOp>([&](auto) { return div(a, b); })
      .Case<PowOp>([&](auto) { return pow(a, b); })
      .Case<NegOp>([&](auto) { return negate(a); })
      .Case<SignOp>([&](auto) {
        Value size = abs(a);
        Value isZero = equal(size, number(0));
        Value divisor = choose(isZero, number(1), size);
        return Number{div(a.re, divisor), div(a.im, divisor)};
      })
      .Case<ExpOp>([&](auto) { return exp(a); })
      .Case<Expm1Op>([&](auto) { return sub(exp(a), real(1)); })
      .Case<LogOp>([&](auto) { return log(a); })
      .Case<Log1pOp>([&](auto) { return log(add(a, real(1))); })
      .Case<LogisticOp>([&](auto) {
        return div(real(1), add(real(1), exp(negate(a))));
      })
      .Case<SqrtOp>([&](auto) { return sqrt(a); })
      .Case<RsqrtOp>([&](auto) { return div(real(1), sqrt(a)); })
      .Case<CbrtOp>([&](auto) { return pow(a, real(1.0 / 3)); })
      .Case<SineOp>([&](auto) { return sine(a); })
      .Case<CosineOp>([&](auto) { return cosine(a); })
      .Case<TanOp>([&](auto) { return div(sine(a), cosine(a)); })
      .Case<TanhOp>([&](auto) {
        // -i tan(iz)
        Number turned{negate(a.im), a.re};
        Number tangent = div(sine(turned), cosine(turned));
        return Number{tangent.im, negate(tangent.re)};
      })
      .Case<chlo::SquareOp>([&](auto) { return mul(a, a); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace

Value pipemesh::emitComplex(OpBuilder &builder, Operation *op,
                            ValueRange operands) {
  Location loc = op->getLoc();
  ComplexEmitter emitter(builder, op);
  Type element =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  Type type = getRegisterType(element);
  auto inputElement = cast<RankedTensorType>(op->getOperands().back().getType())
                          .getElementType();
  if (isa<stablehlo::SelectOp>(op))
    return arith::SelectOp::create(builder, loc, operands[0], operands[1],
                                   operands[2]);
  if (isa<stablehlo::ComplexOp>(op))
    return emitter.make(
        {emitter.toDouble(operands[0]), emitter.toDouble(operands[1])},
        cast<VectorType>(type));
  if (isa<stablehlo::ConvertOp>(op)) {
    bool isInput = isa<ComplexType>(inputElement);
    if (isInput && isa<ComplexType>(element))
      return emitter.make(emitter.take(operands[0]), cast<VectorType>(type));
    if (isInput)
      return emitCast(builder, loc, emitter.part(operands[0], 0),
                      builder.getF64Type(), element);
    Value real =
        emitCast(builder, loc, operands[0], inputElement, builder.getF64Type());
    return emitter.make({real, emitter.number(0)}, cast<VectorType>(type));
  }
  Number a = emitter.take(operands.front()), b = emitter.take(operands.back());
  if (isa<stablehlo::RealOp>(op))
    return emitter.fromDouble(a.re, type);
  if (isa<stablehlo::ImagOp>(op))
    return emitter.fromDouble(a.im, type);
  if (isa<stablehlo::AbsOp>(op))
    return emitter.fromDouble(emitter.abs(a), type);
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    Value same = arith::AndIOp::create(builder, loc, emitter.equal(a.re, b.re),
                                       emitter.equal(a.im, b.im));
    switch (compare.getComparisonDirection()) {
    case stablehlo::ComparisonDirection::EQ:
      return same;
    case stablehlo::ComparisonDirection::NE:
      return arith::XOrIOp::create(
          builder, loc, same, emitConstant(builder, loc, same.getType(), 1));
    default:
      return {};
    }
  }
  std::optional<Number> value = emitter.function(op, a, b);
  return value ? emitter.make(*value, cast<VectorType>(type)) : Value();
}
