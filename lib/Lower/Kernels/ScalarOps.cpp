//===- ScalarOps.cpp - elementwise ops on registers -----------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pipemesh;

Type pipemesh::getRegisterType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  if (auto complex = dyn_cast<ComplexType>(element))
    return VectorType::get({2}, complex.getElementType());
  return element;
}

Type pipemesh::getMemoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return getRegisterType(element);
}

unsigned pipemesh::getElementBytes(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * getElementBytes(complex.getElementType());
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
  Value emitConvert();

  /// Computes in another type than the op's own.
  void setElements(Type operandType, Type resultType) {
    operandElement = operandType;
    element = resultType;
    type = getVectorType(getRegisterType(element), width);
  }

private:
  OpBuilder &builder;
  Location loc;
  Operation *op;
  ValueRange operands;
  unsigned width;
  Type element, operandElement, type;
  arith::FastMathFlagsAttr flags;

  bool isFloat() const { return isa<FloatType>(operandElement); }
  unsigned getWidth() const { return operandElement.getIntOrFloatBitWidth(); }
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
  Value emitSign();
  Value emitNarrow();
  Value emitNextAfter();
  Value emitReducePrecision(stablehlo::ReducePrecisionOp reduce);
  Value emitIntegerPower();
  Value emitDivision();
  Value emitTotalOrderKey(Value x);
  Value emitToInteger();
  Value bits(Value x) {
    unsigned count = operandElement.getIntOrFloatBitWidth();
    Type integer = getVectorType(builder.getIntegerType(count), width);
    return arith::BitcastOp::create(builder, loc, integer, x);
  }
  Value library(StringRef name, ValueRange values) {
    return emitLibraryCall(builder, loc, name, values);
  }
  Value like(Value x, const APInt &value) {
    Type wanted = x.getType();
    TypedAttr attr = IntegerAttr::get(getElementTypeOrSelf(wanted), value);
    if (auto vector = dyn_cast<VectorType>(wanted))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
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
            [&](auto) { return library("fmod", {a, b}); })
        .Case<stablehlo::Atan2Op>(
            [&](auto) { return library("atan2", {a, b}); })
        .Case<chlo::NextAfterOp>([&](auto) { return emitNextAfter(); })
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
      .Case<stablehlo::DivOp, stablehlo::RemOp>(
          [&](auto) { return emitDivision(); })
      .Case<stablehlo::PowOp>([&](auto) { return emitIntegerPower(); })
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

/// Division by zero gives all ones and leaves `a` as remainder, the lowest number
/// divided by -1 stays what it is; the instruction would trap.
Value Emitter::emitDivision() {
  Value a = operands[0], b = operands[1];
  bool isDivision = isa<stablehlo::DivOp>(op);
  Value zero = constant(0);
  Value byZero = compare(arith::CmpIPredicate::eq, b, zero);
  if (isUnsigned()) {
    Value divisor = select(byZero, like(b, APInt(getWidth(), 1)), b);
    Value value = isDivision ? binary<arith::DivUIOp>(a, divisor)
                             : binary<arith::RemUIOp>(a, divisor);
    return select(byZero,
                  isDivision ? like(a, APInt::getAllOnes(getWidth())) : a,
                  value);
  }
  Value minusOne = like(b, APInt::getAllOnes(getWidth()));
  Value byMinusOne = compare(arith::CmpIPredicate::eq, b, minusOne);
  Value odd = binary<arith::OrIOp>(byZero, byMinusOne);
  Value divisor = select(odd, like(b, APInt(getWidth(), 1)), b);
  Value value = isDivision ? binary<arith::DivSIOp>(a, divisor)
                           : binary<arith::RemSIOp>(a, divisor);
  value = select(byMinusOne,
                 isDivision ? binary<arith::SubIOp>(zero, a) : zero, value);
  return select(byZero, isDivision ? minusOne : a, value);
}

/// By squaring; 1, -1 or 0 for negative exponents.
Value Emitter::emitIntegerPower() {
  Value a = operands[0], b = operands[1];
  unsigned bitCount = getWidth();
  Value one = like(a, APInt(bitCount, 1)), zero = constant(0);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  auto loop = scf::ForOp::create(builder, loc, number(0), number(bitCount),
                                 number(1), ValueRange{one, a, b});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value product = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
          rest = loop.getRegionIterArg(2);
    Value odd = compare(arith::CmpIPredicate::ne,
                        binary<arith::AndIOp>(rest, one), zero);
    product = select(odd, binary<arith::MulIOp>(product, square), product);
    square = binary<arith::MulIOp>(square, square);
    rest = binary<arith::ShRUIOp>(rest, one);
    scf::YieldOp::create(builder, loc, ValueRange{product, square, rest});
  }
  Value power = loop.getResult(0);
  if (isUnsigned())
    return power;
  Value minusOne = like(a, APInt::getAllOnes(bitCount));
  Value isOdd = compare(arith::CmpIPredicate::ne,
                        binary<arith::AndIOp>(b, one), zero);
  Value reciprocal =
      select(compare(arith::CmpIPredicate::eq, a, one), one,
             select(compare(arith::CmpIPredicate::eq, a, minusOne),
                    select(isOdd, minusOne, one), zero));
  return select(compare(arith::CmpIPredicate::slt, b, zero), reciprocal, power);
}

/// The number whose bits are next to those of `x`, read as sign and magnitude.
Value Emitter::emitNextAfter() {
  Value x = operands[0], y = operands[1];
  Value xBits = bits(x), yBits = bits(y);
  Type own = x.getType();
  if (operandElement.getIntOrFloatBitWidth() < 32) {
    // Half precision is compared in float32.
    Type single = getVectorType(builder.getF32Type(), width);
    x = arith::ExtFOp::create(builder, loc, single, x);
    y = arith::ExtFOp::create(builder, loc, single, y);
  }
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(x.getType()));
  unsigned count = getWidth();
  Value sign = like(xBits, APInt::getSignMask(count));
  Value one = like(xBits, APInt(count, 1));
  Value smallest = binary<arith::OrIOp>(
      binary<arith::AndIOp>(yBits, sign), one);
  // Away from zero where y is farther out on the same side.
  Value up = compare(arith::CmpFPredicate::OGT, y, x);
  Value isPositive = compare(arith::CmpFPredicate::OGT, x, zero);
  Value outwards = compare(arith::CmpIPredicate::eq, up, isPositive);
  Value next = select(outwards, binary<arith::AddIOp>(xBits, one),
                      binary<arith::SubIOp>(xBits, one));
  next = select(compare(arith::CmpFPredicate::OEQ, x, zero), smallest, next);
  // A choice of bits, since half precision has no select of its own everywhere.
  next = select(compare(arith::CmpFPredicate::OEQ, x, y), yBits, next);
  next = select(compare(arith::CmpFPredicate::UNO, y, y), yBits, next);
  next = select(compare(arith::CmpFPredicate::UNO, x, x), xBits, next);
  return arith::BitcastOp::create(builder, loc, own, next);
}

/// On the bits: rounds the mantissa to the nearest, ties to even, then replaces
/// what the smaller exponent cannot hold.
Value Emitter::emitReducePrecision(stablehlo::ReducePrecisionOp reduce) {
  Value x = operands[0], number = bits(x);
  unsigned count = getWidth();
  unsigned mantissa = operandElement.isF64() ? 52 : 23;
  unsigned exponent = count - 1 - mantissa;
  auto word = [&](const APInt &value) { return like(number, value); };
  unsigned keptMantissa = reduce.getMantissaBits();
  unsigned keptExponent = reduce.getExponentBits();
  Value rounded = number;
  if (keptMantissa < mantissa) {
    unsigned shift = mantissa - keptMantissa;
    APInt last = APInt::getOneBitSet(count, shift);
    Value lastBit = binary<arith::ShRUIOp>(
        binary<arith::AndIOp>(number, word(last)), word(APInt(count, shift)));
    Value sum = binary<arith::AddIOp>(
        number, binary<arith::AddIOp>(lastBit, word(last.lshr(1) - 1)));
    rounded = binary<arith::AndIOp>(sum, word(~(last - 1)));
  }
  if (keptExponent < exponent) {
    int64_t bias = (int64_t(1) << (exponent - 1)) - 1;
    int64_t keptBias = (int64_t(1) << (keptExponent - 1)) - 1;
    APInt field = APInt::getBitsSet(count, mantissa, count - 1);
    Value exponentBits = binary<arith::AndIOp>(rounded, word(field));
    Value sign = binary<arith::AndIOp>(number,
                                       word(APInt::getSignMask(count)));
    auto limit = [&](int64_t value) {
      return word(APInt(count, value).shl(mantissa));
    };
    Value isLarge = compare(arith::CmpIPredicate::ugt, exponentBits,
                            limit(bias + keptBias));
    Value isSmall = compare(arith::CmpIPredicate::ule, exponentBits,
                            limit(bias - keptBias));
    Value infinity = binary<arith::OrIOp>(sign, word(field));
    rounded = select(isLarge, infinity, select(isSmall, sign, rounded));
  }
  Value result = arith::BitcastOp::create(builder, loc, x.getType(), rounded);
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, result);
}

/// Half precision computes in float32 and rounds each result.
Value Emitter::emitNarrow() {
  Type wide = builder.getF32Type();
  SmallVector<Value> widened;
  for (Value operand : operands) {
    Type type = getElementTypeOrSelf(operand.getType());
    if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
      operand = arith::ExtFOp::create(builder, loc, getVectorType(wide, width),
                                      operand);
    widened.push_back(operand);
  }
  bool isNarrowResult =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  Emitter emitter(builder, op, widened, width);
  emitter.setElements(isFloat() ? wide : operandElement,
                      isNarrowResult ? wide : element);
  Value value = emitter.emit();
  if (!value || !isNarrowResult)
    return value;
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// The bits as an integer in the order of IEEE 754's totalOrder.
Value Emitter::emitTotalOrderKey(Value x) {
  Value number = bits(x);
  unsigned count = getWidth();
  Value isNegative =
      compare(arith::CmpIPredicate::slt, number, like(number, APInt(count, 0)));
  Value mirrored = binary<arith::XOrIOp>(
      number, like(number, APInt::getSignedMaxValue(count)));
  return select(isNegative, mirrored, number);
}

/// Truncates towards zero; too large numbers become the largest, NaN zero.
Value Emitter::emitToInteger() {
  Value x = operands[0];
  unsigned count = element.getIntOrFloatBitWidth();
  bool isUnsignedResult = element.isUnsignedInteger();
  double limit = std::ldexp(1.0, isUnsignedResult ? count : count - 1);
  Value isLarge = compare(arith::CmpFPredicate::OGE, x, constant(limit));
  Value isSmall = isUnsignedResult
                      ? compare(arith::CmpFPredicate::OLE, x, constant(-1))
                      : compare(arith::CmpFPredicate::OLT, x, constant(-limit));
  Value isOut = binary<arith::OrIOp>(
      binary<arith::OrIOp>(isLarge, isSmall),
      compare(arith::CmpFPredicate::UNO, x, x));
  Value inside = select(isOut, constant(0), x);
  Value result =
      isUnsignedResult
          ? Value(arith::FPToUIOp::create(builder, loc, type, inside))
          : Value(arith::FPToSIOp::create(builder, loc, type, inside));
  APInt largest = isUnsignedResult ? APInt::getAllOnes(count)
                                   : APInt::getSignedMaxValue(count);
  APInt lowest = isUnsignedResult ? APInt::getZero(count)
                                  : APInt::getSignedMinValue(count);
  result = select(isLarge, like(result, largest), result);
  return select(isSmall, like(result, lowest), result);
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
    return library("pow", {a, b});
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
  Value general = library("pow", {a, b});
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
  if (!isFloat() && isUnsigned())
    return select(compare(arith::CmpIPredicate::eq, x, zero), x,
                  like(x, APInt(getWidth(), 1)));
  if (!isFloat()) {
    Value sign = select(compare(arith::CmpIPredicate::slt, x, zero),
                        constant(-1), constant(1));
    return select(compare(arith::CmpIPredicate::eq, x, zero), x, sign);
  }
  Value sign = binary<math::CopySignOp>(constant(1), x);
  Value ordinary = compare(arith::CmpFPredicate::ONE, x, zero);
  return select(ordinary, sign, x); // zero and NaN stay what they are
}

/// The function of the C library that computes the op; empty when there is a
/// shorter way.
static StringRef getLibraryName(Operation *op, bool isDouble) {
  StringRef name =
      llvm::TypeSwitch<Operation *, StringRef>(op)
          .Case<stablehlo::CbrtOp>([](auto) { return "cbrt"; })
          .Case<stablehlo::TanOp>([](auto) { return "tan"; })
          .Case<chlo::AcosOp>([](auto) { return "acos"; })
          .Case<chlo::AcoshOp>([](auto) { return "acosh"; })
          .Case<chlo::AsinOp>([](auto) { return "asin"; })
          .Case<chlo::AsinhOp>([](auto) { return "asinh"; })
          .Case<chlo::AtanOp>([](auto) { return "atan"; })
          .Case<chlo::AtanhOp>([](auto) { return "atanh"; })
          .Case<chlo::CoshOp>([](auto) { return "cosh"; })
          .Case<chlo::LgammaOp>([](auto) { return "lgamma"; })
          .Case<chlo::SinhOp>([](auto) { return "sinh"; })
          .Default([](Operation *) { return StringRef(); });
  if (!name.empty() || !isDouble)
    return name;
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<stablehlo::ExpOp>([](auto) { return "exp"; })
      .Case<stablehlo::Expm1Op>([](auto) { return "expm1"; })
      .Case<stablehlo::LogOp>([](auto) { return "log"; })
      .Case<stablehlo::Log1pOp>([](auto) { return "log1p"; })
      .Case<stablehlo::TanhOp>([](auto) { return "tanh"; })
      .Case<stablehlo::SineOp>([](auto) { return "sin"; })
      .Case<stablehlo::CosineOp>([](auto) { return "cos"; })
      .Case<chlo::ErfOp>([](auto) { return "erf"; })
      .Case<chlo::ErfcOp>([](auto) { return "erfc"; })
      .Default([](Operation *) { return StringRef(); });
}

Value Emitter::emitFloatFunction() {
  Value x = operands[0];
  auto one = [&] { return constant(1); };
  // The polynomials are those of float32.
  if (StringRef name = getLibraryName(op, operandElement.isF64());
      !name.empty())
    return library(name, x);
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
      .Case<stablehlo::RoundNearestAfzOp>(
          [&](auto) { return function<math::RoundOp>(x); })
      .Case<stablehlo::CeilOp>([&](auto) { return function<math::CeilOp>(x); })
      .Case<stablehlo::FloorOp>(
          [&](auto) { return function<math::FloorOp>(x); })
      .Case<stablehlo::RoundNearestEvenOp>(
          [&](auto) { return function<math::RoundEvenOp>(x); })
      .Case<stablehlo::LogisticOp>([&](auto) {
        Value negated = function<arith::NegFOp>(x);
        Value power = operandElement.isF64() ? library("exp", negated)
                                             : function<math::ExpOp>(negated);
        return binary<arith::DivFOp>(one(),
                                     arithmetic<arith::AddFOp>(one(), power));
      })
      .Case<chlo::DigammaOp, chlo::ErfInvOp>(
          [&](auto) { return emitSpecial(builder, op, x); })
      .Case<stablehlo::RealOp>([&](auto) { return x; })
      .Case<stablehlo::ImagOp>([&](auto) { return constant(0); })
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
    return isFloat()      ? function<math::AbsFOp>(x)
           : isUnsigned() ? x
                          : function<math::AbsIOp>(x);
  if (isa<stablehlo::NotOp>(op))
    return binary<arith::XOrIOp>(x, like(x, APInt::getAllOnes(getWidth())));
  if (isa<stablehlo::PopulationCountOp>(op))
    return function<math::CtPopOp>(x);
  if (isa<stablehlo::ClzOp>(op))
    return function<math::CountLeadingZerosOp>(x);
  if (auto reduce = dyn_cast<stablehlo::ReducePrecisionOp>(op))
    return emitReducePrecision(reduce);
  if (isa<stablehlo::SignOp>(op))
    return emitSign();
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
    // Between formats of half precision, and from float64, through float32.
    unsigned fromBits = from.getIntOrFloatBitWidth();
    if (isa<FloatType>(to) && to.getIntOrFloatBitWidth() < 32 &&
        fromBits != 32) {
      Type middle = getVectorType(builder.getF32Type(), width);
      Value single = fromBits < 32
                         ? Value(arith::ExtFOp::create(builder, loc, middle, x))
                         : Value(arith::TruncFOp::create(builder, loc, middle,
                                                         x));
      return arith::TruncFOp::create(builder, loc, type, single);
    }
    if (fromBits < 32 && to.isF64()) {
      Type middle = getVectorType(builder.getF32Type(), width);
      Value single = arith::ExtFOp::create(builder, loc, middle, x);
      return arith::ExtFOp::create(builder, loc, type, single);
    }
    if (isa<FloatType>(to))
      return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth()
                 ? Value(arith::ExtFOp::create(builder, loc, type, x))
                 : Value(arith::TruncFOp::create(builder, loc, type, x));
    if (from.getIntOrFloatBitWidth() < 32)
      return emitNarrow();
    return emitToInteger();
  }
  if (isa<FloatType>(to) && to.getIntOrFloatBitWidth() < 32)
    return emitNarrow();
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
  bool isTotal =
      compareOp.getCompareType() &&
      *compareOp.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  if (isFloat() && isTotal) {
    a = emitTotalOrderKey(a);
    b = emitTotalOrderKey(b);
  }
  if (isFloat() && !isTotal) {
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
    return width == 1 ? emitComplex(builder, op, operands) : Value();
  if (isa<stablehlo::SelectOp>(op))
    return select(operands[0], operands[1], operands[2]);
  if (isa<stablehlo::ConvertOp>(op))
    return emitConvert();
  if (isFloat() && operandElement.getIntOrFloatBitWidth() < 32 &&
      !isa<chlo::NextAfterOp>(op))
    return emitNarrow();
  if (auto compareOp = dyn_cast<stablehlo::CompareOp>(op))
    return emitCompare(compareOp);
  if (isa<stablehlo::ClampOp>(op))
    return minimum(maximum(operands[1], operands[0]), operands[2]);
  return operands.size() == 1 ? emitUnary() : emitBinary();
}

} // namespace

Value pipemesh::emitElementwise(OpBuilder &builder, Operation *op,
                                ValueRange operands, unsigned width) {
  return Emitter(builder, op, operands, width).emit();
}

Value pipemesh::emitCast(OpBuilder &builder, Location loc, Value value,
                         Type from, Type to) {
  if (from == to)
    return value;
  // The emitter reads everything but the types from its op.
  auto fromTensor = RankedTensorType::get({}, from);
  OperationState empty(loc, "builtin.unrealized_conversion_cast");
  empty.addTypes(fromTensor);
  Operation *source = Operation::create(empty);
  auto toTensor = RankedTensorType::get({}, to);
  OperationState convert(loc, stablehlo::ConvertOp::getOperationName(),
                         source->getResults(), {toTensor}, {});
  Operation *op = Operation::create(convert);
  Value result = Emitter(builder, op, value, 1).emit();
  op->destroy();
  source->destroy();
  return result;
}

Value pipemesh::emitLibraryCall(OpBuilder &builder, Location loc,
                                StringRef name, ValueRange operands) {
  Type type = operands[0].getType(), element = getElementTypeOrSelf(type);
  std::string symbol = (name + (element.isF64() ? "" : "f")).str();
  // A module of the builtin or of the gpu dialect.
  Operation *module = SymbolTable::getNearestSymbolTable(
      builder.getInsertionBlock()->getParentOp());
  auto callee = dyn_cast_or_null<LLVM::LLVMFuncOp>(
      SymbolTable::lookupSymbolIn(module, symbol));
  if (!callee) {
    OpBuilder outside = OpBuilder::atBlockBegin(&module->getRegion(0).front());
    SmallVector<Type> types(operands.size(), element);
    callee = LLVM::LLVMFuncOp::create(
        outside, loc, symbol, LLVM::LLVMFunctionType::get(element, types));
  }
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return LLVM::CallOp::create(builder, loc, callee, operands).getResult();
  Value result = emitConstant(builder, loc, type, 0);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    SmallVector<Value> lane;
    for (Value operand : operands)
      lane.push_back(vector::ExtractOp::create(builder, loc, operand,
                                               ArrayRef<int64_t>{i}));
    Value value = LLVM::CallOp::create(builder, loc, callee, lane).getResult();
    result = vector::InsertOp::create(builder, loc, value, result,
                                      ArrayRef<int64_t>{i});
  }
  return result;
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
  auto lane = [&](int64_t number) -> Value {
    return vector::ExtractOp::create(builder, loc, vector,
                                     ArrayRef<int64_t>{number});
  };
  if (width == 1)
    return lane(0);
  while (width > 2) {
    width /= 2;
    auto half = [&](int64_t first) -> Value {
      auto lanes = llvm::to_vector(llvm::seq<int64_t>(first, first + width));
      return vector::ShuffleOp::create(builder, loc, vector, vector, lanes);
    };
    vector = emitElementwise(builder, combiner, {half(0), half(width)}, width);
  }
  return emitElementwise(builder, combiner, {lane(0), lane(1)}, 1);
}
