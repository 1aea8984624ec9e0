//===- OptimizerStep.cpp --------------------------------------------------===//

#include "OptimizerStep.h"
#include "GradientBuilder.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// The body grows at both ends while it is built; the function gets its type
/// and attributes at the end, once.
class StepBuilder {
public:
  explicit StepBuilder(func::FuncOp step)
      : step(step), body(step.getBody().front()), builder(body.getTerminator()),
        scalar(RankedTensorType::get({}, builder.getF32Type())) {
    auto orEmpty = [&](DictionaryAttr attrs) {
      return attrs ? attrs : builder.getDictionaryAttr({});
    };
    for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i)
      argumentAttrs.push_back(orEmpty(step.getArgAttrDict(i)));
    for (unsigned i = 0, e = step.getNumResults(); i < e; ++i)
      resultAttrs.push_back(orEmpty(step.getResultAttrDict(i)));
    results.assign(body.getTerminator()->operand_begin(),
                   body.getTerminator()->operand_end());
  }

  Location nameLoc(StringRef name) {
    return NameLoc::get(builder.getStringAttr(name));
  }
  GradientBuilder at(Location loc) { return GradientBuilder(builder, loc); }

  Value addArgument(Type type, StringRef key, Attribute value, StringRef name) {
    argumentAttrs.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(key, value)));
    return body.addArgument(type, nameLoc(name));
  }
  Value addScalarInput(StringRef name) {
    return addArgument(scalar, pm::kInputAttr, builder.getStringAttr(name),
                       name);
  }
  Value addState(Type type, pm::StateKind kind, StringRef name) {
    return addArgument(type, pm::kStateAttr,
                       pm::StateAttr::get(step.getContext(), kind, name), name);
  }
  /// The number of dimensions of a parameter in its file.
  int64_t getStoredRank(BlockArgument parameter) {
    if (auto stored = dyn_cast_or_null<DenseI64ArrayAttr>(
            argumentAttrs[parameter.getArgNumber()].get(pm::kStoredShapeAttr)))
      return stored.size();
    return cast<RankedTensorType>(parameter.getType()).getRank();
  }
  void addResult(Value value, ArrayRef<NamedAttribute> attrs) {
    results.push_back(value);
    resultAttrs.push_back(builder.getDictionaryAttr(attrs));
  }
  void addOutput(Value value, StringRef name, StringAttr parameter = {}) {
    SmallVector<NamedAttribute> attrs = {
        builder.getNamedAttr(pm::kOutputAttr, builder.getStringAttr(name))};
    if (parameter)
      attrs.push_back(builder.getNamedAttr(pm::kNameAttr, parameter));
    addResult(value, attrs);
  }
  void addNewState(Value value, pm::StateKind kind, StringRef name) {
    addResult(value, builder.getNamedAttr(
                         pm::kStateAttr,
                         pm::StateAttr::get(step.getContext(), kind, name)));
  }
  /// Gives the function its new type.
  void finish() {
    body.getTerminator()->setOperands(results);
    step.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), ValueRange(results).getTypes()));
    step.setAllArgAttrs(argumentAttrs);
    step.setAllResultAttrs(resultAttrs);
  }

  func::FuncOp step;
  Block &body;
  OpBuilder builder;
  RankedTensorType scalar;

private:
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
};
} // namespace

/// The square root of the sum of the squares of all gradients.
static Value buildGradientNorm(StepBuilder &b, ArrayRef<Parameter> parameters) {
  Value sum;
  GradientBuilder g = b.at(b.nameLoc("grad_norm"));
  for (const Parameter &parameter : parameters) {
    GradientBuilder own = b.at(b.nameLoc(parameter.state.getName().getValue()));
    Value gradient = own.convert(parameter.gradient, b.builder.getF32Type());
    sum = g.add(sum, own.reduceSum(own.multiply(gradient, gradient)));
  }
  return stablehlo::SqrtOp::create(b.builder, g.loc, sum);
}

/// min(1, clip_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
static Value buildClipCoefficient(StepBuilder &b, Value norm, Value clipNorm) {
  GradientBuilder g = b.at(b.nameLoc("clip_coefficient"));
  Value coefficient = g.divide(clipNorm, g.add(norm, g.splat(b.scalar, 1e-6)));
  return stablehlo::MinOp::create(b.builder, g.loc, coefficient,
                                  g.splat(b.scalar, 1.0));
}

void pipemesh::appendOptimizerStep(func::FuncOp step,
                                   ArrayRef<Parameter> parameters,
                                   const OptimizerOptions &options) {
  StepBuilder b(step);
  SmallVector<std::pair<Value, Value>> moments;
  for (const Parameter &parameter : parameters) {
    StringRef name = parameter.state.getName().getValue();
    Type type = parameter.argument.getType();
    Value first = b.addState(type, pm::StateKind::Moment1, name);
    Value second = b.addState(type, pm::StateKind::Moment2, name);
    moments.push_back({first, second});
  }
  Value updates = b.addState(b.scalar, pm::StateKind::Step, "step");
  Value learningRate = b.addScalarInput("learning_rate");
  Value beta1 = b.addScalarInput("beta1");
  Value beta2 = b.addScalarInput("beta2");
  Value epsilon = b.addScalarInput("epsilon");
  Value weightDecay = b.addScalarInput("weight_decay");

  Value norm = buildGradientNorm(b, parameters);
  Value scale;
  if (options.clip)
    scale = buildClipCoefficient(b, norm, b.addScalarInput("clip_norm"));
  else
    scale = b.at(b.nameLoc("clip_coefficient")).splat(b.scalar, 1.0);
  GradientBuilder g = b.at(b.nameLoc("step"));
  Value number = g.add(updates, g.splat(b.scalar, 1.0));

  b.addOutput(norm, "grad_norm");
  for (const Parameter &parameter : parameters)
    b.addOutput(parameter.gradient, "gradient", parameter.state.getName());
  for (auto [parameter, moment] : llvm::zip(parameters, moments)) {
    StringRef name = parameter.state.getName().getValue();
    Type type = parameter.argument.getType();
    bool decay =
        options.decayVectors || b.getStoredRank(parameter.argument) >= 2;
    auto update = pm::AdamWOp::create(
        b.builder, b.nameLoc(name), type, type, type, parameter.argument,
        parameter.gradient, moment.first, moment.second, number, learningRate,
        beta1, beta2, epsilon, weightDecay, scale,
        decay ? b.builder.getUnitAttr() : UnitAttr());
    b.addNewState(update.getNewParam(), pm::StateKind::Parameter, name);
    b.addNewState(update.getNewMoment1(), pm::StateKind::Moment1, name);
    b.addNewState(update.getNewMoment2(), pm::StateKind::Moment2, name);
  }
  b.addNewState(number, pm::StateKind::Step, "step");
  b.finish();
}
