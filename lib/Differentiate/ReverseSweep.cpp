//===- ReverseSweep.cpp - from cotangents of results to those of targets --===//

#include "GradientBuilder.h"
#include "Models.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Differentiate/Differentiate.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pipemesh;

static bool isComplex(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<ComplexType>(tensor.getElementType());
}

namespace {
/// How values depend on the targets. A value is active when a change of a
/// target changes it smoothly, as far as the ops tell; cotangents are built for
/// active values only.
class Activity {
public:
  Activity(ArrayRef<Operation *> ops, ArrayRef<Value> targets) {
    active.insert(targets.begin(), targets.end());
    for (Operation *op : ops)
      if (Value source = findActiveInput(op))
        for (Value result : op->getResults())
          if (carriesGradient(result.getType()) || isComplex(result.getType()))
            if (active.insert(result).second)
              cause[result] = source;
  }

  bool isActive(Value value) const { return active.contains(value); }

  /// The target from which the value depends, by one of the paths.
  Value getTarget(Value value) const {
    for (auto next = cause.find(value); next != cause.end();
         next = cause.find(value))
      value = next->second;
    return value;
  }

  /// An active value that the op's results depend on; null where there is none.
  Value findActiveInput(Operation *op) const {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isActive(operand.get()))
        continue;
      // What is known not to carry a gradient ends the path. Complex numbers
      // are not known to.
      if (differentiable && !isComplex(operand.get().getType()) &&
          !differentiable.isDifferentiable(operand.getOperandNumber()) &&
          llvm::none_of(op->getResultTypes(), isComplex))
        continue;
      return operand.get();
    }
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (isActive(value))
        return value;
    return {};
  }

private:
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cause;
};
} // namespace

/// How an error calls a target: by its parameter's name, or its position.
static std::string describeTarget(Value target) {
  auto argument = dyn_cast<BlockArgument>(target);
  if (!argument)
    return "a value";
  unsigned number = argument.getArgNumber();
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (function)
    if (auto state =
            function.getArgAttrOfType<pm::StateAttr>(number, pm::kStateAttr))
      return ("parameter '" + state.getName().getValue() + "'").str();
  return "argument " + std::to_string(number);
}

/// Why the op as a whole has no gradient; empty where it has one.
static std::optional<std::string> getRefusal(Operation *op,
                                             const Activity &activity) {
  if (llvm::any_of(op->getOperandTypes(), isComplex) ||
      llvm::any_of(op->getResultTypes(), isComplex))
    return "complex numbers";
  if (isa<CallOpInterface>(op))
    return "a call; --inline puts the function in its place";
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable) {
    if (isa<DecomposableOpInterface>(op))
      return std::nullopt;
    return "";
  }
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!activity.isActive(operand.get()) ||
        !differentiable.isDifferentiable(index))
      continue;
    if (std::string reason = differentiable.getUnsupportedReason(index);
        !reason.empty())
      return reason;
  }
  return std::nullopt;
}

void pipemesh::addCotangent(OpBuilder &builder, Location loc,
                            CotangentMap &cotangents, Value value,
                            Value cotangent) {
  if (!cotangent)
    return;
  Value &entry = cotangents[value];
  entry = GradientBuilder(builder, loc).add(entry, cotangent);
}

static FailureOr<Value> buildCotangent(OpBuilder &builder, Operation *op,
                                       unsigned operand,
                                       ArrayRef<Value> cotangents) {
  if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
    return differentiable.buildCotangent(builder, operand, cotangents);
  return buildCotangentByDecomposition(builder, op, operand, cotangents);
}

static bool isDifferentiable(Operation *op, unsigned operand) {
  if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
    return differentiable.isDifferentiable(operand);
  return carriesGradient(op->getOperand(operand).getType());
}

LogicalResult pipemesh::buildReverseSweep(OpBuilder &builder,
                                          ArrayRef<Operation *> ops,
                                          ArrayRef<Value> targets,
                                          CotangentMap &cotangents,
                                          StringRef destination) {
  Activity activity(ops, targets);
  for (Operation *op : llvm::reverse(ops)) {
    if (!activity.findActiveInput(op))
      continue;
    // Every use of a result lies behind its op, so these are complete.
    SmallVector<Value> ofResults;
    for (Value result : op->getResults())
      ofResults.push_back(cotangents.lookup(result));
    if (llvm::none_of(ofResults, [](Value value) { return !!value; }))
      continue;

    if (std::optional<std::string> reason = getRefusal(op, activity)) {
      Value target = activity.getTarget(activity.findActiveInput(op));
      InFlightDiagnostic error = op->emitOpError("has no gradient");
      if (!reason->empty())
        error << " (" << *reason << ")";
      error << ", but lies on the path from " << describeTarget(target)
            << " to " << destination
            << "; write it with ops that have one, freeze what it depends on, "
               "or add its gradient as docs/adding-an-op.md shows";
      return error;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      if (!activity.isActive(operand.get()) || !isDifferentiable(op, index))
        continue;
      FailureOr<Value> built = buildCotangent(builder, op, index, ofResults);
      if (failed(built))
        return failure();
      addCotangent(builder, op->getLoc(), cotangents, operand.get(), *built);
    }
  }
  return success();
}

FailureOr<Value>
pipemesh::buildCotangentByDecomposition(OpBuilder &builder, Operation *op,
                                        unsigned operand,
                                        ValueRange resultCotangents) {
  Location loc = op->getLoc();
  Value original = op->getOperand(operand);
  // One value may stand in several operands: the barrier makes this one
  // distinct, so that only its own cotangent is built.
  auto stand = stablehlo::OptimizationBarrierOp::create(
      builder, loc, original.getType(), original);
  Value target = stand->getResult(0);
  Operation *clone = builder.clone(*op);
  clone->setOperand(operand, target);
  SmallVector<Value> results =
      cast<DecomposableOpInterface>(clone).decompose(builder);

  SmallVector<Operation *> ops;
  for (Operation *next = clone->getNextNode();
       next && (builder.getInsertionPoint() == builder.getBlock()->end() ||
                next != &*builder.getInsertionPoint());
       next = next->getNextNode())
    ops.push_back(next);
  CotangentMap cotangents;
  for (auto [result, cotangent] : llvm::zip(results, resultCotangents))
    addCotangent(builder, loc, cotangents, result, cotangent);
  LogicalResult swept = buildReverseSweep(builder, ops, target, cotangents,
                                          "the results of a decomposition");
  Value cotangent = cotangents.lookup(target);
  if (cotangent == target)
    cotangent = original;
  target.replaceAllUsesWith(original);
  clone->erase();
  stand.erase();
  if (failed(swept))
    return failure();
  return cotangent;
}
