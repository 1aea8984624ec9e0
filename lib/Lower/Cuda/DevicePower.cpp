//===- DevicePower.cpp - powf on a GPU ------------------------------------===//

#include "DevicePower.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include <cmath>

using namespace pipemesh;

namespace {

class PowerBuilder {
public:
  explicit PowerBuilder(llvm::Function &function)
      : builder(llvm::BasicBlock::Create(function.getContext(), "entry",
                                         &function)),
        f64(builder.getDoubleTy()) {
    x = function.getArg(0);
    y = function.getArg(1);
  }

  void build();

private:
  using Value = llvm::Value *;

  Value number(double value) { return llvm::ConstantFP::get(f64, value); }
  Value integer(uint64_t value) { return builder.getInt64(value); }
  Value rint(Value value) {
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::rint, value);
  }
  /// coefficients[0] + coefficients[1] v + ...
  Value polynomial(Value v, llvm::ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = builder.CreateIntrinsic(llvm::Intrinsic::fma, {f64},
                                    {sum, v, number(coefficient)});
    return sum;
  }
  Value logarithm(Value magnitude);
  Value exponential(Value exponent);

  llvm::IRBuilder<> builder;
  llvm::Type *f64;
  Value x, y;
};

} // namespace

/// log2 of a positive number.
llvm::Value *PowerBuilder::logarithm(Value magnitude) {
  Value bits = builder.CreateBitCast(magnitude, builder.getInt64Ty());
  Value exponent = builder.CreateSub(builder.CreateLShr(bits, 52), integer(1023));
  Value fraction = builder.CreateBitCast(
      builder.CreateOr(builder.CreateAnd(bits, integer((1ull << 52) - 1)),
                       integer(1023ull << 52)),
      f64);
  Value isLarge = builder.CreateFCmpOGT(fraction, number(std::sqrt(2.0)));
  Value m = builder.CreateSelect(
      isLarge, builder.CreateFMul(fraction, number(0.5)), fraction);
  Value e = builder.CreateAdd(
      exponent, builder.CreateZExt(isLarge, builder.getInt64Ty()));
  Value s = builder.CreateFDiv(builder.CreateFSub(m, number(1.0)),
                               builder.CreateFAdd(m, number(1.0)));
  llvm::SmallVector<double> coefficients;
  for (int k = 0; k < 11; ++k)
    coefficients.push_back(2.0 / std::log(2.0) / (2 * k + 1));
  Value series = polynomial(builder.CreateFMul(s, s), coefficients);
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {f64},
                                 {s, series, builder.CreateSIToFP(e, f64)});
}

/// 2^exponent, beyond the range of float32 at its ends.
llvm::Value *PowerBuilder::exponential(Value exponent) {
  constexpr double most = 1000;
  Value low = builder.CreateSelect(
      builder.CreateFCmpOLT(exponent, number(-most)), number(-most), exponent);
  Value t = builder.CreateSelect(builder.CreateFCmpOGT(low, number(most)),
                                 number(most), low);
  Value whole = rint(t);
  llvm::SmallVector<double> coefficients{1.0};
  for (int k = 1; k < 13; ++k)
    coefficients.push_back(coefficients.back() / k);
  Value rest = polynomial(builder.CreateFMul(builder.CreateFSub(t, whole),
                                             number(std::log(2.0))),
                          coefficients);
  Value scale = builder.CreateBitCast(
      builder.CreateShl(
          builder.CreateAdd(builder.CreateFPToSI(whole, builder.getInt64Ty()),
                            integer(1023)),
          52),
      f64);
  return builder.CreateFMul(rest, scale);
}

void PowerBuilder::build() {
  Value base = builder.CreateFPExt(x, f64), exponent = builder.CreateFPExt(y, f64);
  Value magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, base);
  Value yMagnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, exponent);
  Value infinity = number(std::numeric_limits<double>::infinity());
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  Value isUnknown = builder.CreateFCmpUNO(base, exponent);
  Value isZero = builder.CreateFCmpOEQ(magnitude, number(0.0));
  Value isInfinite = builder.CreateFCmpOEQ(magnitude, infinity);
  Value isWhole = builder.CreateFCmpOEQ(rint(exponent), exponent);
  Value half = builder.CreateFMul(exponent, number(0.5));
  Value isOdd = builder.CreateAnd(isWhole, builder.CreateFCmpUNE(rint(half), half));

  // The logarithms of zero and of infinity are further out than any number's.
  constexpr double far = 1e6;
  Value log = logarithm(magnitude);
  log = builder.CreateSelect(isZero, number(-far), log);
  log = builder.CreateSelect(isInfinite, number(far), log);
  // The smallest float32 exponents times `far` are small numbers, which zero and
  // infinity are not: they decide by the exponent's sign.
  Value product = builder.CreateFMul(exponent, log);
  Value isEdge = builder.CreateOr(isZero, isInfinite);
  Value edge = builder.CreateSelect(
      builder.CreateFCmpOLT(product, number(0.0)), number(-far), number(far));
  Value power = exponential(builder.CreateSelect(isEdge, edge, product));

  Value isNegative = builder.CreateICmpSLT(
      builder.CreateBitCast(base, builder.getInt64Ty()), integer(0));
  power = builder.CreateSelect(builder.CreateAnd(isNegative, isOdd),
                               builder.CreateFNeg(power), power);
  Value hasNone = builder.CreateAnd(
      builder.CreateAnd(builder.CreateFCmpOLT(base, number(0.0)),
                        builder.CreateNot(isWhole)),
      builder.CreateNot(isInfinite));
  power = builder.CreateSelect(hasNone, nan, power);
  power = builder.CreateSelect(isUnknown, nan, power);
  Value isOne = builder.CreateOr(
      builder.CreateFCmpOEQ(base, number(1.0)),
      builder.CreateFCmpOEQ(exponent, number(0.0)));
  Value endless =
      builder.CreateAnd(builder.CreateFCmpOEQ(magnitude, number(1.0)),
                        builder.CreateFCmpOEQ(yMagnitude, infinity));
  power = builder.CreateSelect(builder.CreateOr(isOne, endless), number(1.0), power);
  builder.CreateRet(builder.CreateFPTrunc(power, builder.getFloatTy()));
}

void pipemesh::definePower(llvm::Module &module) {
  llvm::Function *function = module.getFunction("powf");
  if (!function || !function->isDeclaration())
    return;
  PowerBuilder(*function).build();
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
}
