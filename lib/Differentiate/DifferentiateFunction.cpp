//===- DifferentiateFunction.cpp ------------------------------------------===//

#include "GradientBuilder.h"
#include "TidyGraph.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Differentiate/Differentiate.h"
#include "pipemesh/Differentiate/Passes.h"

using namespace mlir;
using namespace pipemesh;

namespace pipemesh {
#define GEN_PASS_DEF_DIFFERENTIATEFUNCTION
#include "pipemesh/Differentiate/Passes.h.inc"
} // namespace pipemesh

FailureOr<func::FuncOp> pipemesh::differentiateFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("must have a body of one block to be "
                                "differentiated");
  std::string name = (function.getName() + "_grad").str();
  if (SymbolTable::lookupNearestSymbolFrom(
          function, StringAttr::get(function.getContext(), name)))
    return function.emitOpError("cannot be differentiated: the name '@")
           << name << "' is taken";

  func::FuncOp gradient = function.clone();
  gradient.setName(name);
  for (unsigned i = 0, e = gradient.getNumArguments(); i < e; ++i)
    gradient.setArgAttrs(i, ArrayRef<NamedAttribute>());
  gradient.removeResAttrsAttr();
  OpBuilder builder(function);
  builder.setInsertionPointAfter(function);
  builder.insert(gradient);

  Block &body = gradient.getBody().front();
  Operation *end = body.getTerminator();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  SmallVector<Value> targets;
  for (Value argument : body.getArguments())
    if (carriesGradient(argument.getType()))
      targets.push_back(argument);

  builder.setInsertionPoint(end);
  CotangentMap cotangents;
  for (Value result : end->getOperands())
    if (carriesGradient(result.getType())) {
      Value argument = body.addArgument(result.getType(), result.getLoc());
      addCotangent(builder, result.getLoc(), cotangents, result, argument);
    }
  LogicalResult swept =
      buildReverseSweep(builder, ops, targets, cotangents, "a result");

  SmallVector<Value> results;
  for (Value target : targets) {
    Value cotangent = cotangents.lookup(target);
    if (!cotangent)
      cotangent =
          GradientBuilder(builder, target.getLoc()).zeros(target.getType());
    results.push_back(cotangent);
  }
  end->setOperands(results);
  gradient.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(results).getTypes()));
  if (failed(swept)) {
    gradient.erase();
    return failure();
  }
  tidyGraph(gradient);
  return gradient;
}

namespace {
struct DifferentiateFunction
    : pipemesh::impl::DifferentiateFunctionBase<DifferentiateFunction> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(differentiateFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
