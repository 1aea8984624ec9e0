//===- Differentiate.cpp - the pass pm-differentiate ----------------------===//

#include "pipemesh/Differentiate/Differentiate.h"
#include "GradientBuilder.h"
#include "OptimizerStep.h"
#include "TidyGraph.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Differentiate/Passes.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace pipemesh;

namespace pipemesh {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "pipemesh/Differentiate/Passes.h.inc"
} // namespace pipemesh

namespace {
struct Differentiate : pipemesh::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    if (failed(differentiate()))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions();
  FailureOr<func::FuncOp> findStep();
  FailureOr<unsigned> findLoss(func::FuncOp step);
  FailureOr<SmallVector<Parameter>> findTrainable(func::FuncOp step);
  LogicalResult differentiate();
};
} // namespace

LogicalResult Differentiate::checkOptions() {
  ModuleOp module = getOperation();
  if (optimizer != "adamw")
    return module.emitError("unknown optimizer '")
           << optimizer << "'; the one there is is adamw";
  if (decay != "all" && decay != "matrices")
    return module.emitError("unknown decay '")
           << decay
           << "'; it is all (parameters decay) or matrices (those with two or "
              "more dimensions)";
  return success();
}

FailureOr<func::FuncOp> Differentiate::findStep() {
  ModuleOp module = getOperation();
  if (auto task = module->getAttrOfType<StringAttr>("pm.task"))
    if (task == "eval")
      return module.emitError(
          "the module's pm.task is \"eval\", which has no backward pass; "
          "import "
          "it with --task=train, or leave pm-differentiate out");
  if (module->hasAttr(kRecipeAttr))
    return module.emitError("the module is differentiated already: it has a ")
           << kRecipeAttr;
  auto step = module.lookupSymbol<func::FuncOp>("main");
  if (!step)
    return module.emitError("pm-differentiate needs a function @main");
  if (!step.getBody().hasOneBlock())
    return step.emitOpError("must have a body of one block to be "
                            "differentiated");
  return step;
}

FailureOr<unsigned> Differentiate::findLoss(func::FuncOp step) {
  for (unsigned i = 0, e = step.getNumResults(); i < e; ++i) {
    auto name = step.getResultAttrOfType<StringAttr>(i, pm::kOutputAttr);
    if (!name || name != "loss")
      continue;
    auto type = dyn_cast<RankedTensorType>(step.getResultTypes()[i]);
    if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return step.emitOpError(
                 "the loss must be a floating-point tensor of rank "
                 "0, but is ")
             << step.getResultTypes()[i];
    return i;
  }
  return step.emitOpError("has no result marked {pm.output = \"loss\"}");
}

/// The parameters that match one of the patterns, in the order of arguments.
FailureOr<SmallVector<Parameter>>
Differentiate::findTrainable(func::FuncOp step) {
  SmallVector<llvm::GlobPattern> patterns;
  for (const std::string &text : trainable) {
    auto pattern = llvm::GlobPattern::create(text, /*MaxSubPatterns=*/1024);
    if (!pattern)
      return step.emitOpError("trainable pattern '")
             << text << "': " << llvm::toString(pattern.takeError());
    patterns.push_back(std::move(*pattern));
  }
  SmallVector<bool> isUsed(patterns.size(), false);
  SmallVector<Parameter> parameters;
  StringAttr anyName;
  for (BlockArgument argument : step.getArguments()) {
    auto state = step.getArgAttrOfType<pm::StateAttr>(argument.getArgNumber(),
                                                      pm::kStateAttr);
    if (!state)
      continue;
    if (state.getKind() != pm::StateKind::Parameter)
      return step.emitOpError("argument ")
             << argument.getArgNumber()
             << " is optimizer state already: " << state;
    anyName = state.getName();
    bool matches = patterns.empty();
    for (auto [pattern, used] : llvm::zip(patterns, isUsed))
      if (pattern.match(anyName.getValue()))
        matches = used = true;
    if (!matches)
      continue;
    if (!carriesGradient(argument.getType()))
      return step.emitOpError("parameter '")
             << anyName.getValue() << "' of type " << argument.getType()
             << " cannot be trained; leave it out of trainable";
    parameters.push_back({argument, state, Value()});
  }
  if (!anyName)
    return step.emitOpError(
        "has no argument marked {pm.state = #pm.state<parameter, ...>}");
  for (auto [text, used] : llvm::zip(trainable, isUsed))
    if (!used)
      return step.emitOpError("trainable pattern '")
             << text << "' matches no parameter; a parameter is called '"
             << anyName.getValue() << "'";
  return parameters;
}

LogicalResult Differentiate::differentiate() {
  if (failed(checkOptions()))
    return failure();
  FailureOr<func::FuncOp> found = findStep();
  if (failed(found))
    return failure();
  func::FuncOp step = *found;
  FailureOr<unsigned> lossIndex = findLoss(step);
  FailureOr<SmallVector<Parameter>> parameters = findTrainable(step);
  if (failed(lossIndex) || failed(parameters))
    return failure();

  Block &body = step.getBody().front();
  llvm::DenseMap<Operation *, StringRef> phases;
  auto setPhase = [&](StringRef phase) {
    for (Operation &op : body.without_terminator())
      phases.try_emplace(&op, phase);
  };
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  setPhase("forward");

  Value loss = body.getTerminator()->getOperand(*lossIndex);
  SmallVector<Value> targets;
  for (Parameter &parameter : *parameters)
    targets.push_back(parameter.argument);
  OpBuilder builder(body.getTerminator());
  CotangentMap cotangents;
  cotangents[loss] =
      GradientBuilder(builder, loss.getLoc()).splat(loss.getType(), 1.0);
  if (failed(
          buildReverseSweep(builder, forward, targets, cotangents, "the loss")))
    return failure();
  setPhase("backward");

  SmallVector<Parameter> trained;
  for (Parameter &parameter : *parameters) {
    parameter.gradient = cotangents.lookup(parameter.argument);
    if (parameter.gradient)
      trained.push_back(parameter);
    else
      step.emitWarning("the loss does not depend on parameter '")
          << parameter.state.getName().getValue() << "', which stays as it is";
  }
  if (trained.empty())
    return step.emitOpError(
        "has a loss that depends on no trainable parameter");
  OptimizerOptions options;
  options.decayVectors = decay == "all";
  options.clip = clip;
  appendOptimizerStep(step, trained, options);
  setPhase("update");

  tidyGraph(step);
  for (Operation &op : body.without_terminator())
    op.setAttr(pm::kPhaseAttr, builder.getStringAttr(phases.lookup(&op)));

  SmallVector<StringRef> patterns(trainable.begin(), trainable.end());
  if (patterns.empty())
    patterns.push_back("*");
  getOperation()->setAttr(
      kRecipeAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("optimizer", builder.getStringAttr(optimizer)),
           builder.getNamedAttr("decay", builder.getStringAttr(decay)),
           builder.getNamedAttr("trainable", builder.getStrArrayAttr(patterns)),
           builder.getNamedAttr("clips", builder.getBoolAttr(clip))}));
  return success();
}
