//===- ScalarOps.cpp - elementwise ops on registers -----------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pipemesh;

Type pipemesh::getRegisterType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type pipemesh::getMemoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return getRegisterType(element);
}

unsigned pipemesh::getElementBytes(Type element) {
  return (getMemoryType(element).getIntOrFloatBitWidth() + 7) / 8;
}

Type pipemesh::getVectorType(Type scalar, unsigned width) {
  return width == 1 ? scalar : VectorType::get({width}, scalar);
}

Value pipemesh::emitConstant(OpBuilder &builder, Location loc, Type type,
                             double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (auto floatType = dyn_cast<FloatType>(element))
    attr = FloatAttr::get(floatType, value);
  else
    attr = IntegerAttr::get(element, static_cast<int64_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

namespace {

/// Builds one op on registers. Sums and products may be contracted to fused
/// multiply-adds; nothing else is relaxed.
class Emitter {
public:
  Emitter(OpBuilder &builder, Operation *op, ValueRange operands,
          unsigned width)
      : builder(builder), loc(op->getLoc()), op(op), operands(operands),
        width(width), element(cast<RankedTensorType>(op->getResult(0).getType())
                                  .getElementType()),
        operandElement(cast<RankedTensorType>(
                           op->getOperand(op->getNumOperands() - 1).getType())
                           .getElementType()),
        type(getVectorType(getRegisterType(element), width)),
        flags(arith::FastMathFlagsAttr::get(op->getContext(),
                                            arith::FastMathFlags::contract)) {}

  Value emit();

private:
  OpBuilder &builder;
  Location loc;
  Operation *op;
  ValueRange operands;
  unsigned width;
  Type element, operandElement, type;
  arith::FastMathFlagsAttr flags;

  bool isFloat() const { return isa<FloatType>(operandElement); }
  bool isBool() const { return operandElement.isInteger(1); }
  bool isUnsigned() const {
    return operandElement.isUnsignedInteger() || isBool();
  }

  Value constant(double value) {
    return emitConstant(builder, loc, operands[0].getType(), value);
  }
  template <typename OpTy> Value binary(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }
  template <typename OpTy> Value arithmetic(Value a, Value b) {
    return OpTy::create(builder, loc, a, b, flags);
  }
  template <typename OpTy> Value function(Value a) {
    return OpTy::create(builder, loc, a);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value predicate, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, predicate, a, b);
  }

  Value emitUnary();
  Value emitFloatFunction();
  Value emitBinary();
  Value emitShift();
  Value emitCompare(stablehlo::CompareOp compareOp);
  Value emitConvert();
  Value emitSign();
  Value reduceAngle(Value x);
  Value emitPower();
  Value maximum(Value a, Value b);
  Value minimum(Value a, Value b);
};

Value Emitter::maximum(Value a, Value b) {
  if (isFloat())
    return binary<arith::MaximumFOp>(a, b);
  if (isBool())
    return binary<arith::OrIOp>(a, b);
  return isUnsigned() ? binary<arith::MaxUIOp>(a, b)
                      : binary<arith::MaxSIOp>(a, b);
}

Value Emitter::minimum(Value a, Value b) {
  if (isFloat())
    return binary<arith::MinimumFOp>(a, b);
  if (isBool())
    return binary<arith::AndIOp>(a, b);
  return isUnsigned() ? binary<arith::MinUIOp>(a, b)
                      : binary<arith::MinSIOp>(a, b);
}

Value Emitter::emitBinary() {
  Value a = operands[0], b = operands[1];
  if (isFloat()) {
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case<stablehlo::AddOp>(
            [&](auto) { return arithmetic<arith::AddFOp>(a, b); })
        .Case<stablehlo::SubtractOp>(
            [&](auto) { return arithmetic<arith::SubFOp>(a, b); })
        .Case<stablehlo::MulOp>(
            [&](auto) { return arithmetic<arith::MulFOp>(a, b); })
        .Case<stablehlo::DivOp>(
            [&](auto) { return binary<arith::DivFOp>(a, b); })
        .Case<stablehlo::RemOp>(
            [&](auto) { return binary<arith::RemFOp>(a, b); })
        .Case<stablehlo::PowOp>([&](auto) { return emitPower(); })
        .Case<stablehlo::MaxOp>([&](auto) { return maximum(a, b); })
        .Case<stablehlo::MinOp>([&](auto) { return minimum(a, b); })
        .Default([](Operation *) { return Value(); });
  }
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<stablehlo::AddOp>([&](auto) {
        return isBool() ? binary<arith::OrIOp>(a, b)
                        : binary<arith::AddIOp>(a, b);
      })
      .Case<stablehlo::SubtractOp>(
          [&](auto) { return binary<arith::SubIOp>(a, b); })
      .Case<stablehlo::MulOp>([&](auto) {
        return isBool() ? binary<arith::AndIOp>(a, b)
                        : binary<arith::MulIOp>(a, b);
      })
      .Case<stablehlo::DivOp>([&](auto) {
        return isUnsigned() ? binary<arith::DivUIOp>(a, b)
                            : binary<arith::DivSIOp>(a, b);
      })
      .Case<stablehlo::RemOp>([&](auto) {
        return isUnsigned() ? binary<arith::RemUIOp>(a, b)
                            : binary<arith::RemSIOp>(a, b);
      })
      .Case<stablehlo::MaxOp>([&](auto) { return maximum(a, b); })
      .Case<stablehlo::MinOp>([&](auto) { return minimum(a, b); })
      .Case<stablehlo::AndOp>([&](auto) { return binary<arith::AndIOp>(a, b); })
      .Case<stablehlo::OrOp>([&](auto) { return binary<arith::OrIOp>(a, b); })
      .Case<stablehlo::XorOp>([&](auto) { return binary<arith::XOrIOp>(a, b); })
      .Case<stablehlo::ShiftLeftOp, stablehlo::ShiftRightLogicalOp,
            stablehlo::ShiftRightArithmeticOp>(
          [&](auto) { return emitShift(); })
      .Default([](Operation *) { return Value(); });
}

/// The angle without whole turns, taken off in float64: the polynomials are
/// exact near 0 only.
Value Emitter::reduceAngle(Value x) {
  if (!element.isF32())
    return x;
  Type wide = getVectorType(builder.getF64Type(), width);
  constexpr double turn = 6.283185307179586;
  Value angle = arith::ExtFOp::create(builder, loc, wide, x);
  Value turns = function<math::RoundEvenOp>(
      binary<arith::MulFOp>(angle, emitConstant(builder, loc, wide, 1 / turn)));
  Value rest = binary<arith::SubFOp>(
      angle,
      binary<arith::MulFOp>(turns, emitConstant(builder, loc, wide, turn)));
  return arith::TruncFOp::create(builder, loc, type, rest);
}

/// A whole power of one number is a product in float64: corrections such as
/// 1 - beta^t lose their digits in float32.
Value Emitter::emitPower() {
  Value a = operands[0], b = operands[1];
  if (width != 1 || !a.getType().isF32())
    return binary<math::PowFOp>(a, b);
  Type i64 = builder.getI64Type(), f64 = builder.getF64Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value inside = binary<arith::AndIOp>(
      compare(arith::CmpFPredicate::OGE, b, constant(0)),
      compare(arith::CmpFPredicate::OLT, b, constant(1 << 30)));
  Value whole =
      compare(arith::CmpFPredicate::OEQ, b, function<math::FloorOp>(b));
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type},
                                  binary<arith::AndIOp>(inside, whole),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value exponent = arith::FPToSIOp::create(builder, loc, i64, b);
  Value base = arith::ExtFOp::create(builder, loc, f64, a);
  Value one = emitConstant(builder, loc, f64, 1);
  auto loop = scf::ForOp::create(builder, loc, integer(0), integer(30),
                                 integer(1), ValueRange{one, base, exponent});
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value product = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
          rest = loop.getRegionIterArg(2);
    Value odd = compare(arith::CmpIPredicate::ne,
                        binary<arith::AndIOp>(rest, integer(1)), integer(0));
    product = select(odd, binary<arith::MulFOp>(product, square), product);
    square = binary<arith::MulFOp>(square, square);
    rest = binary<arith::ShRUIOp>(rest, integer(1));
    scf::YieldOp::create(builder, loc, ValueRange{product, square, rest});
  }
  Value power = arith::TruncFOp::create(builder, loc, type, loop.getResult(0));
  scf::YieldOp::create(builder, loc, power);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value general = binary<math::PowFOp>(a, b);
  scf::YieldOp::create(builder, loc, general);
  return branch.getResult(0);
}

/// Shifts by the width or more are defined: all bits leave.
Value Emitter::emitShift() {
  Value a = operands[0], b = operands[1];
  unsigned bits = operandElement.getIntOrFloatBitWidth();
  Value inside = compare(arith::CmpIPredicate::ult, b, constant(bits));
  if (isa<stablehlo::ShiftRightArithmeticOp>(op))
    return binary<arith::ShRSIOp>(a, select(inside, b, constant(bits - 1)));
  Value amount = select(inside, b, constant(0));
  Value shifted = isa<stablehlo::ShiftLeftOp>(op)
                      ? binary<arith::ShLIOp>(a, amount)
                      : binary<arith::ShRUIOp>(a, amount);
  return select(inside, shifted, constant(0));
}

Value Emitter::emitSign() {
  Value x = operands[0], zero = constant(0);
  if (!isFloat()) {
    Value sign = select(compare(arith::CmpIPredicate::slt, x, zero),
                        constant(-1), constant(1));
    return select(compare(arith::CmpIPredicate::eq, x, zero), x, sign);
  }
  Value sign = binary<math::CopySignOp>(constant(1), x);
  Value ordinary = compare(arith::CmpFPredicate::ONE, x, zero);
  return select(ordinary, sign, x); // zero and NaN stay what they are
}

Value Emitter::emitFloatFunction() {
  Value x = operands[0];
  auto one = [&] { return constant(1); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<stablehlo::ExpOp>([&](auto) { return function<math::ExpOp>(x); })
      .Case<stablehlo::Expm1Op>(
          [&](auto) { return function<math::ExpM1Op>(x); })
      .Case<stablehlo::LogOp>([&](auto) { return function<math::LogOp>(x); })
      .Case<stablehlo::Log1pOp>(
          [&](auto) { return function<math::Log1pOp>(x); })
      .Case<stablehlo::TanhOp>([&](auto) { return function<math::TanhOp>(x); })
      .Case<stablehlo::SineOp>(
          [&](auto) { return function<math::SinOp>(reduceAngle(x)); })
      .Case<stablehlo::CosineOp>(
          [&](auto) { return function<math::CosOp>(reduceAngle(x)); })
      .Case<stablehlo::SqrtOp>([&](auto) { return function<math::SqrtOp>(x); })
      .Case<stablehlo::RsqrtOp>([&](auto) {
        return binary<arith::DivFOp>(one(), function<math::SqrtOp>(x));
      })
      .Case<stablehlo::CbrtOp>([&](auto) { return function<math::CbrtOp>(x); })
      .Case<stablehlo::CeilOp>([&](auto) { return function<math::CeilOp>(x); })
      .Case<stablehlo::FloorOp>(
          [&](auto) { return function<math::FloorOp>(x); })
      .Case<stablehlo::RoundNearestEvenOp>(
          [&](auto) { return function<math::RoundEvenOp>(x); })
      .Case<stablehlo::LogisticOp>([&](auto) {
        Value power = function<math::ExpOp>(function<arith::NegFOp>(x));
        return binary<arith::DivFOp>(one(),
                                     arithmetic<arith::AddFOp>(one(), power));
      })
      .Case<chlo::ErfOp>([&](auto) { return function<math::ErfOp>(x); })
      .Case<chlo::ErfcOp>([&](auto) { return function<math::ErfcOp>(x); })
      .Case<stablehlo::IsFiniteOp>([&](auto) {
        return compare(arith::CmpFPredicate::OLT, function<math::AbsFOp>(x),
                       constant(std::numeric_limits<double>::infinity()));
      })
      .Default([](Operation *) { return Value(); });
}

Value Emitter::emitUnary() {
  Value x = operands[0];
  if (isa<stablehlo::NegOp>(op))
    return isFloat() ? function<arith::NegFOp>(x)
                     : binary<arith::SubIOp>(constant(0), x);
  if (isa<chlo::SquareOp>(op))
    return isFloat() ? arithmetic<arith::MulFOp>(x, x)
                     : binary<arith::MulIOp>(x, x);
  if (isa<stablehlo::AbsOp>(op))
    return isFloat() ? function<math::AbsFOp>(x) : function<math::AbsIOp>(x);
  if (isa<stablehlo::NotOp>(op))
    return binary<arith::XOrIOp>(x, constant(-1));
  if (isa<stablehlo::SignOp>(op))
    return emitSign();
  if (isa<stablehlo::ConvertOp>(op))
    return emitConvert();
  return isFloat() ? emitFloatFunction() : Value();
}

Value Emitter::emitConvert() {
  Value x = operands[0];
  Type from = operandElement, to = element;
  if (getRegisterType(from) == getRegisterType(to))
    return x;
  if (to.isInteger(1))
    return isFloat() ? compare(arith::CmpFPredicate::UNE, x, constant(0))
                     : compare(arith::CmpIPredicate::ne, x, constant(0));
  if (isFloat()) {
    if (isa<FloatType>(to))
      return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth()
                 ? Value(arith::ExtFOp::create(builder, loc, type, x))
                 : Value(arith::TruncFOp::create(builder, loc, type, x));
    return to.isUnsignedInteger()
               ? Value(arith::FPToUIOp::create(builder, loc, type, x))
               : Value(arith::FPToSIOp::create(builder, loc, type, x));
  }
  if (isa<FloatType>(to))
    return isUnsigned() ? Value(arith::UIToFPOp::create(builder, loc, type, x))
                        : Value(arith::SIToFPOp::create(builder, loc, type, x));
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, type, x);
  return isUnsigned() ? Value(arith::ExtUIOp::create(builder, loc, type, x))
                      : Value(arith::ExtSIOp::create(builder, loc, type, x));
}

Value Emitter::emitCompare(stablehlo::CompareOp compareOp) {
  using stablehlo::ComparisonDirection;
  ComparisonDirection direction = compareOp.getComparisonDirection();
  Value a = operands[0], b = operands[1];
  if (isFloat()) {
    if (compareOp.getCompareType() &&
        *compareOp.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
      return {};
    arith::CmpFPredicate predicate;
    switch (direction) {
    case ComparisonDirection::EQ:
      predicate = arith::CmpFPredicate::OEQ;
      break;
    case ComparisonDirection::NE:
      predicate = arith::CmpFPredicate::UNE;
      break;
    case ComparisonDirection::GE:
      predicate = arith::CmpFPredicate::OGE;
      break;
    case ComparisonDirection::GT:
      predicate = arith::CmpFPredicate::OGT;
      break;
    case ComparisonDirection::LE:
      predicate = arith::CmpFPredicate::OLE;
      break;
    case ComparisonDirection::LT:
      predicate = arith::CmpFPredicate::OLT;
      break;
    }
    return compare(predicate, a, b);
  }
  bool isSigned = !isUnsigned();
  arith::CmpIPredicate predicate;
  switch (direction) {
  case ComparisonDirection::EQ:
    predicate = arith::CmpIPredicate::eq;
    break;
  case ComparisonDirection::NE:
    predicate = arith::CmpIPredicate::ne;
    break;
  case ComparisonDirection::GE:
    predicate =
        isSigned ? arith::CmpIPredicate::sge : arith::CmpIPredicate::uge;
    break;
  case ComparisonDirection::GT:
    predicate =
        isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
    break;
  case ComparisonDirection::LE:
    predicate =
        isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule;
    break;
  case ComparisonDirection::LT:
    predicate =
        isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
    break;
  }
  return compare(predicate, a, b);
}

Value Emitter::emit() {
  if (isa<ComplexType>(element) || isa<ComplexType>(operandElement))
    return {};
  if (auto compareOp = dyn_cast<stablehlo::CompareOp>(op))
    return emitCompare(compareOp);
  if (isa<stablehlo::SelectOp>(op))
    return select(operands[0], operands[1], operands[2]);
  if (isa<stablehlo::ClampOp>(op))
    return minimum(maximum(operands[1], operands[0]), operands[2]);
  return operands.size() == 1 ? emitUnary() : emitBinary();
}

} // namespace

Value pipemesh::emitElementwise(OpBuilder &builder, Operation *op,
                                ValueRange operands, unsigned width) {
  return Emitter(builder, op, operands, width).emit();
}

TypedAttr pipemesh::getNeutralElement(Operation *combiner, Type element) {
  Type type = getRegisterType(element);
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    if (isa<stablehlo::MaxOp>(combiner))
      return FloatAttr::get(floatType, APFloat::getInf(semantics, true));
    if (isa<stablehlo::MinOp>(combiner))
      return FloatAttr::get(floatType, APFloat::getInf(semantics, false));
    return FloatAttr::get(floatType,
                          isa<stablehlo::MulOp>(combiner) ? 1.0 : 0.0);
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || bits == 1;
  APInt value = APInt::getZero(bits);
  if (isa<stablehlo::MulOp>(combiner))
    value = APInt(bits, 1);
  else if (isa<stablehlo::AndOp>(combiner))
    value = APInt::getAllOnes(bits);
  else if (isa<stablehlo::MaxOp>(combiner))
    value = isUnsigned ? APInt::getZero(bits) : APInt::getSignedMinValue(bits);
  else if (isa<stablehlo::MinOp>(combiner))
    value =
        isUnsigned ? APInt::getAllOnes(bits) : APInt::getSignedMaxValue(bits);
  return IntegerAttr::get(type, value);
}

Value pipemesh::emitHorizontal(OpBuilder &builder, Operation *combiner,
                               Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  Location loc = combiner->getLoc();
  int64_t width = type.getNumElements();
  while (width > 1) {
    width /= 2;
    auto half = [&](int64_t first) -> Value {
      auto lanes = llvm::to_vector(llvm::seq<int64_t>(first, first + width));
      return vector::ShuffleOp::create(builder, loc, vector, vector, lanes);
    };
    vector = emitElementwise(builder, combiner, {half(0), half(width)}, width);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}
