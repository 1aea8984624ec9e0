//===- Complex.cpp - elementwise ops on complex numbers -------------------===//

#include "Elementwise.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "llvm/ADT/TypeSwitch.h"
#include <complex>

using namespace mlir;

namespace pipemesh::interp {

using Complex = std::complex<double>;

static std::optional<Complex> evaluate(Operation *op, Complex a, Complex b) {
  using namespace stablehlo;
  return llvm::TypeSwitch<Operation *, std::optional<Complex>>(op)
      .Case<AbsOp>([&](auto) { return Complex(std::hypot(a.real(), a.imag())); })
      .Case<AddOp>([&](auto) { return a + b; })
      .Case<SubtractOp>([&](auto) { return a - b; })
      .Case<MulOp>([&](auto) { return a * b; })
      .Case<DivOp>([&](auto) { return a / b; })
      .Case<PowOp>([&](auto) { return std::pow(a, b); })
      .Case<NegOp>([&](auto) { return -a; })
      .Case<SignOp>([&](auto) {
        return a == 0.0 ? a : a / std::hypot(a.real(), a.imag());
      })
      .Case<ExpOp>([&](auto) { return std::exp(a); })
      .Case<Expm1Op>([&](auto) { return std::exp(a) - 1.0; })
      .Case<LogOp>([&](auto) { return std::log(a); })
      .Case<Log1pOp>([&](auto) { return std::log(1.0 + a); })
      .Case<LogisticOp>([&](auto) { return 1.0 / (1.0 + std::exp(-a)); })
      .Case<SqrtOp>([&](auto) { return std::sqrt(a); })
      .Case<RsqrtOp>([&](auto) { return 1.0 / std::sqrt(a); })
      .Case<CbrtOp>([&](auto) { return std::pow(a, 1.0 / 3); })
      .Case<SineOp>([&](auto) { return std::sin(a); })
      .Case<CosineOp>([&](auto) { return std::cos(a); })
      .Case<TanOp>([&](auto) { return std::tan(a); })
      .Case<TanhOp>([&](auto) { return std::tanh(a); })
      .Case<chlo::SquareOp>([&](auto) { return a * a; })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult evaluateComplex(LocalCall &call) {
  Tensor result(call.getElementwiseType());
  const Tensor &x = call.operands.front(), &y = call.operands.back();
  int64_t strideX = x.getRank() == result.getRank();
  int64_t strideY = y.getRank() == result.getRank();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    const double *a = x.floats() + 2 * i * strideX;
    const double *b = y.floats() + 2 * i * strideY;
    std::optional<Complex> value =
        evaluate(call.op, Complex(a[0], a[1]), Complex(b[0], b[1]));
    if (!value)
      return call.op->emitError(
                 "the interpreter evaluates it on real numbers, not on ")
             << x.getElementType();
    if (result.isComplex()) {
      result.floats()[2 * i] = value->real();
      result.floats()[2 * i + 1] = value->imag();
    } else {
      result.floats()[i] = value->real();
    }
  }
  call.results.push_back(result);
  return success();
}

} // namespace pipemesh::interp
