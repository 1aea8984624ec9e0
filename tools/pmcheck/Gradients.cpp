//===- Gradients.cpp - pmcheck gradients ----------------------------------===//
//
// Differentiates a function by the ops' gradient interface and compares with
// central differences, both in float64. For L = sum of <cotangent, result>:
// (L(x + h d) - L(x - h d)) / 2h for h and h/2, extrapolated to h = 0
// (Richardson 1911), which leaves an error of order h^4.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "pipemesh/Differentiate/Differentiate.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace pipemesh::interp;

namespace pipemesh::check {

/// Elements up to which each is checked by itself.
constexpr int64_t kSmall = 64;
constexpr int kDirections = 4;

namespace {
class GradientCheck {
public:
  GradientCheck(func::FuncOp function, const Arguments &arguments)
      : function(function), arguments(arguments) {}
  /// 0 when all gradients agree, 1 when one does not, 2 after other errors.
  int run();

private:
  std::optional<double> evaluate(ArrayRef<Tensor> point);
  /// The derivative along a direction of one argument.
  std::optional<double> differentiate(size_t argument, const Tensor &direction);
  bool makePoint();
  bool checkDirection(size_t argument, const Tensor &gradient,
                      const Tensor &direction, double scale,
                      const std::string &what);

  func::FuncOp function;
  const Arguments &arguments;
  double tolerance = 1e-7;
  SmallVector<Tensor> point, cotangents;
  double value = 0, worst = 0;
  bool failedToRun = false;
};
} // namespace

static Tensor makeRandom(RankedTensorType type, const Twine &name,
                         uint64_t seed, StringRef role) {
  Port port{name.str(), role.str(), type};
  return makeRandomInputs(port, /*vocabulary=*/3, seed)[port.name];
}

bool GradientCheck::makePoint() {
  double seed = 0;
  if (!arguments.getNumber("seed", seed) ||
      !arguments.getNumber("tolerance", tolerance))
    return false;
  int64_t vocabulary =
      getVocabulary(function->getParentOfType<ModuleOp>());
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensorType = dyn_cast<RankedTensorType>(type);
    if (!tensorType || !Tensor::isSupported(tensorType.getElementType())) {
      function.emitError("the interpreter has no values of type ") << type;
      return false;
    }
    std::string name = "arg" + std::to_string(index);
    if (!isa<FloatType>(tensorType.getElementType())) {
      auto role = function.getArgAttrOfType<StringAttr>(index, "pm.input");
      Port port{name, role ? role.getValue().str() : "", tensorType};
      point.push_back(
          makeRandomInputs(port, vocabulary, uint64_t(seed))[name]);
      continue;
    }
    // Normal numbers: no two are equal, and none is at a kink.
    Tensor x = makeRandom(tensorType, name, uint64_t(seed), "moment1");
    for (int64_t i = 0; i < x.size(); ++i) {
      x.floats()[i] *= 100;
      if (arguments.has("positive"))
        x.floats()[i] = 0.25 + std::fabs(x.floats()[i]);
    }
    point.push_back(x);
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (auto tensorType = dyn_cast<RankedTensorType>(type);
        tensorType && isa<FloatType>(tensorType.getElementType()))
      cotangents.push_back(makeRandom(tensorType,
                                      "cotangent" + std::to_string(index),
                                      uint64_t(seed), "moment1"));
  for (Tensor &cotangent : cotangents)
    for (int64_t i = 0; i < cotangent.size(); ++i)
      cotangent.floats()[i] *= 100;
  return true;
}

std::optional<double> GradientCheck::evaluate(ArrayRef<Tensor> at) {
  auto results = runFunction(function, at);
  if (failed(results))
    return std::nullopt;
  double sum = 0;
  size_t next = 0;
  for (const Tensor &result : *results) {
    if (!result.isFloat())
      continue;
    const Tensor &cotangent = cotangents[next++];
    for (int64_t i = 0; i < result.size(); ++i)
      sum += result.floats()[i] * cotangent.floats()[i];
  }
  return sum;
}

std::optional<double> GradientCheck::differentiate(size_t argument,
                                                   const Tensor &direction) {
  double derivatives[2];
  for (int half : {0, 1}) {
    double h = half ? 5e-4 : 1e-3, ends[2];
    for (int side : {0, 1}) {
      SmallVector<Tensor> at(point);
      at[argument] = point[argument].clone();
      for (int64_t i = 0; i < direction.size(); ++i)
        at[argument].floats()[i] +=
            (side ? h : -h) * direction.floats()[i];
      auto end = evaluate(at);
      if (!end)
        return std::nullopt;
      ends[side] = *end;
    }
    derivatives[half] = (ends[1] - ends[0]) / (2 * h);
  }
  return (4 * derivatives[1] - derivatives[0]) / 3;
}

bool GradientCheck::checkDirection(size_t argument, const Tensor &gradient,
                                   const Tensor &direction, double scale,
                                   const std::string &what) {
  double product = 0;
  for (int64_t i = 0; i < gradient.size(); ++i)
    product += gradient.floats()[i] * direction.floats()[i];
  auto numeric = differentiate(argument, direction);
  if (!numeric) {
    failedToRun = true;
    return false;
  }
  double error = std::fabs(product - *numeric) / scale;
  if (!(error <= worst))
    worst = error;
  if (error <= tolerance)
    return true;
  llvm::errs() << "pmcheck: error: @" << function.getName() << ": argument "
               << argument << ", " << what << ": the gradient gives "
               << llvm::format("%.9g", product) << ", differences give "
               << llvm::format("%.9g", *numeric) << "\n";
  return false;
}

int GradientCheck::run() {
  auto derivative = differentiateFunction(function);
  if (failed(derivative) || !makePoint())
    return 2;
  SmallVector<Tensor> at(point);
  at.append(cotangents);
  auto start = evaluate(point);
  auto gradients = runFunction(*derivative, at);
  if (!start || failed(gradients))
    return 2;
  value = *start;

  size_t next = 0, checked = 0;
  bool good = true;
  for (size_t argument = 0; argument < point.size(); ++argument) {
    const Tensor &x = point[argument];
    if (!x.isFloat())
      continue;
    const Tensor &gradient = (*gradients)[next++];
    // Rounding leaves about 1e-16 |L| / h in a difference.
    double scale = std::max(1e-3, 1e-4 * std::fabs(value));
    for (int64_t i = 0; i < gradient.size(); ++i)
      scale = std::max(scale, std::fabs(gradient.floats()[i]));
    auto check = [&](const Tensor &direction, const std::string &what) {
      ++checked;
      good = checkDirection(argument, gradient, direction, scale, what) && good;
      return !failedToRun;
    };
    for (int i = 0; i < kDirections; ++i) {
      Tensor direction =
          makeRandom(x.getType(), "direction" + std::to_string(i), argument,
                     /*role=*/"");
      if (!check(direction, "random direction " + std::to_string(i)))
        return 2;
    }
    if (x.size() > kSmall)
      continue;
    for (int64_t i = 0; i < x.size(); ++i) {
      Tensor direction(x.getType());
      direction.floats()[i] = 1;
      if (!check(direction, "element " + std::to_string(i)))
        return 2;
    }
  }
  llvm::outs() << "@" << function.getName() << ": " << checked
               << " derivatives, largest error "
               << llvm::format("%.1e", worst) << "\n";
  return good ? 0 : 1;
}

int runGradients(ArrayRef<StringRef> list, MLIRContext &context) {
  Arguments arguments;
  if (!arguments.parse(list, {"function", "seed", "tolerance", "positive"}, 1,
                       "gradients FILE.mlir [options]"))
    return 2;
  OwningOpRef<ModuleOp> module = readModule(arguments[0], context);
  if (!module)
    return 2;
  SmallVector<func::FuncOp> functions;
  for (auto function : module->getOps<func::FuncOp>())
    if (arguments.has("function")
            ? function.getName() == arguments.get("function")
            : !function.isPrivate())
      functions.push_back(function);
  if (functions.empty()) {
    llvm::errs() << "pmcheck: error: " << arguments[0]
                 << ": there is no function to differentiate\n";
    return 2;
  }
  int status = 0;
  for (func::FuncOp function : functions)
    status = std::max(status, GradientCheck(function, arguments).run());
  return status;
}

} // namespace pipemesh::check
