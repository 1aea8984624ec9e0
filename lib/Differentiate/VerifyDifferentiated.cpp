//===- VerifyDifferentiated.cpp - the pass pm-verify-differentiated -------===//

#include "OptimizerStep.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Differentiate/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYDIFFERENTIATED
#include "pipemesh/Differentiate/Passes.h.inc"
} // namespace pipemesh

namespace {
struct VerifyDifferentiated
    : pipemesh::impl::VerifyDifferentiatedBase<VerifyDifferentiated> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>("main");
    if (!step || !step.getBody().hasOneBlock()) {
      module.emitError("a differentiated graph has a function @main of one "
                       "block");
      return signalPassFailure();
    }
    if (failed(checkRecipe(module)) || failed(checkPhases(step)) ||
        failed(checkState(step)) || failed(checkNames(step)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult checkRecipe(ModuleOp module);
  LogicalResult checkPhases(func::FuncOp step);
  LogicalResult checkState(func::FuncOp step);
  LogicalResult checkNames(func::FuncOp step);
};
} // namespace

LogicalResult VerifyDifferentiated::checkRecipe(ModuleOp module) {
  auto recipe = module->getAttrOfType<DictionaryAttr>(kRecipeAttr);
  if (!recipe)
    return module.emitError("a differentiated graph has the module attribute ")
           << kRecipeAttr << ", a dictionary";
  for (StringRef key : {"optimizer", "decay", "trainable", "clips"})
    if (!recipe.contains(key))
      return module.emitError() << kRecipeAttr << " has no '" << key << "'";
  return success();
}

/// The order of the phases; -1 for a text that names none.
static int getPhaseOrder(Operation *op) {
  auto phase = op->getAttrOfType<StringAttr>(pm::kPhaseAttr);
  if (!phase)
    return -1;
  return llvm::StringSwitch<int>(phase.getValue())
      .Case("forward", 0)
      .Case("backward", 1)
      .Case("update", 2)
      .Default(-1);
}

LogicalResult VerifyDifferentiated::checkPhases(func::FuncOp step) {
  for (Operation &op : step.getBody().front().without_terminator()) {
    int order = getPhaseOrder(&op);
    if (order < 0)
      return op.emitOpError("has no pm.phase");
    for (Value operand : op.getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || getPhaseOrder(source) <= order)
        continue;
      InFlightDiagnostic error = op.emitOpError("of phase ")
                                 << op.getAttr(pm::kPhaseAttr)
                                 << " uses a result of phase "
                                 << source->getAttr(pm::kPhaseAttr);
      error.attachNote(source->getLoc()) << "the result is computed here";
      return error;
    }
  }
  return success();
}

/// Each state that an update changes is given back, in the argument's type.
LogicalResult VerifyDifferentiated::checkState(func::FuncOp step) {
  llvm::MapVector<Attribute, Type> given, returned;
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i)
    if (auto state = step.getArgAttrOfType<pm::StateAttr>(i, pm::kStateAttr))
      if (!given.insert({state, step.getArgumentTypes()[i]}).second)
        return step.emitOpError("has two arguments of state ") << state;
  for (unsigned i = 0, e = step.getNumResults(); i < e; ++i) {
    auto state = step.getResultAttrOfType<pm::StateAttr>(i, pm::kStateAttr);
    if (!state)
      continue;
    Type type = step.getResultTypes()[i];
    if (!returned.insert({state, type}).second)
      return step.emitOpError("has two results of state ") << state;
    auto argument = given.find(state);
    if (argument == given.end())
      return step.emitOpError("returns state ")
             << state << ", but has no argument for it";
    if (argument->second != type)
      return step.emitOpError("takes state ")
             << state << " as " << argument->second << ", but returns it as "
             << type;
  }
  bool hasStep = false;
  for (auto [attr, type] : given) {
    auto state = cast<pm::StateAttr>(attr);
    hasStep |= state.getKind() == pm::StateKind::Step;
    if (returned.contains(attr))
      continue;
    // A parameter without moments is frozen.
    auto moment = pm::StateAttr::get(step.getContext(), pm::StateKind::Moment1,
                                     state.getName(), state.getStorage());
    if (state.getKind() != pm::StateKind::Parameter || given.contains(moment))
      return step.emitOpError("has an argument of state ")
             << state << ", but no result for it";
  }
  if (!hasStep)
    return step.emitOpError("has no argument of state #pm.state<step, ...>");
  return success();
}

/// Moments and gradients come with their parameter; outputs and scalars exist.
LogicalResult VerifyDifferentiated::checkNames(func::FuncOp step) {
  llvm::StringSet<> inputs, outputs, gradients, parameters;
  std::map<pm::StateKind, llvm::StringSet<>> returned;
  for (unsigned i = 0, e = step.getNumArguments(); i < e; ++i) {
    if (auto name = step.getArgAttrOfType<StringAttr>(i, pm::kInputAttr))
      inputs.insert(name.getValue());
    auto state = step.getArgAttrOfType<pm::StateAttr>(i, pm::kStateAttr);
    if (state && state.getKind() == pm::StateKind::Parameter)
      parameters.insert(state.getName().getValue());
  }
  for (unsigned i = 0, e = step.getNumResults(); i < e; ++i) {
    if (auto name = step.getResultAttrOfType<StringAttr>(i, pm::kOutputAttr)) {
      outputs.insert(name.getValue());
      auto owner = step.getResultAttrOfType<StringAttr>(i, pm::kNameAttr);
      if (name == "gradient") {
        if (!owner || !parameters.contains(owner.getValue()))
          return step.emitOpError("has a gradient as result ")
                 << i << " whose pm.name is no parameter";
        gradients.insert(owner.getValue());
      }
    }
    if (auto state = step.getResultAttrOfType<pm::StateAttr>(i, pm::kStateAttr))
      returned[state.getKind()].insert(state.getName().getValue());
  }
  for (StringRef name : returned[pm::StateKind::Parameter].keys()) {
    for (pm::StateKind kind : {pm::StateKind::Moment1, pm::StateKind::Moment2})
      if (!returned[kind].contains(name))
        return step.emitOpError("updates parameter '")
               << name << "', which has no " << pm::stringifyStateKind(kind);
    if (!gradients.contains(name))
      return step.emitOpError("updates parameter '")
             << name << "', which has no gradient output";
  }
  for (StringRef name : {"loss", "grad_norm"})
    if (!outputs.contains(name))
      return step.emitOpError("has no output '") << name << "'";
  SmallVector<StringRef> scalars = {"learning_rate", "beta1", "beta2",
                                    "epsilon", "weight_decay"};
  auto recipe = getOperation()->getAttrOfType<DictionaryAttr>(kRecipeAttr);
  if (auto clips = recipe.getAs<BoolAttr>("clips"); clips && clips.getValue())
    scalars.push_back("clip_norm");
  for (StringRef name : scalars)
    if (!inputs.contains(name))
      return step.emitOpError("has no input '") << name << "'";
  return success();
}
