// Calls and composites, inlined: functions in the order in which what they call
// comes first, so that each body is complete when it is copied.
#include "InlineCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "pipemesh/Dialect/SDY/SDY.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace pipemesh;

// Calls that double from function to function would grow without bound.
static constexpr uint64_t maxOps = uint64_t(1) << 26;

namespace {

struct Function {
  func::FuncOp op;
  SmallVector<Operation *> calls;
  /// Ops of the body once its calls are inlined.
  uint64_t size = 0;
  enum { New, Open, Done } state = New;
};

class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult visit(Function &root);
  LogicalResult inlineInto(Function &function);
  void inlineCall(Operation *call, func::FuncOp callee);
  FailureOr<Function *> lookup(Operation *call);
  Value constrain(OpBuilder &builder, Location location, Value value,
                  Attribute sharding);

  ModuleOp module;
  SmallVector<std::unique_ptr<Function>> functions;
  DenseMap<Attribute, Function *> byName;
};

} // namespace

/// The name of the function that the op stands for; null where it is no call.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (op->getName().getStringRef() == "stablehlo.composite")
    return op->getAttrOfType<FlatSymbolRefAttr>("decomposition");
  return {};
}

FailureOr<Function *> Inliner::lookup(Operation *call) {
  FlatSymbolRefAttr name = getCallee(call);
  Function *callee = byName.lookup(name.getAttr());
  if (!callee)
    return call->emitError() << "calls @" << name.getValue()
                             << ", which the module does not define";
  if (!callee->op.getBody().hasOneBlock())
    return call->emitError()
           << "calls @" << name.getValue() << ", which has "
           << (callee->op.isExternal() ? "no body" : "several blocks");
  FunctionType type = callee->op.getFunctionType();
  if (TypeRange(type.getInputs()) != TypeRange(call->getOperandTypes()) ||
      TypeRange(type.getResults()) != TypeRange(call->getResultTypes()))
    return call->emitError() << "calls @" << name.getValue() << " of type "
                             << type << " with other types";
  return callee;
}

Value Inliner::constrain(OpBuilder &builder, Location location, Value value,
                         Attribute sharding) {
  auto attr = llvm::dyn_cast_or_null<sdy::ShardingAttr>(sharding);
  if (!attr || !isa<RankedTensorType>(value.getType()))
    return value;
  return sdy::ShardingConstraintOp::create(builder, location, value.getType(),
                                           value, attr);
}

void Inliner::inlineCall(Operation *call, func::FuncOp callee) {
  OpBuilder builder(call);
  IRMapping mapping;
  Block &body = callee.getBody().front();
  for (auto [i, operand] : llvm::enumerate(call->getOperands()))
    mapping.map(body.getArgument(i),
                constrain(builder, call->getLoc(), operand,
                          callee.getArgAttr(i, sdy::kShardingAttr)));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [i, result] : llvm::enumerate(call->getResults())) {
    Value value = mapping.lookupOrDefault(body.getTerminator()->getOperand(i));
    result.replaceAllUsesWith(
        constrain(builder, call->getLoc(), value,
                  callee.getResultAttr(i, sdy::kShardingAttr)));
  }
  call->erase();
}

LogicalResult Inliner::inlineInto(Function &function) {
  for (Operation *call : function.calls) {
    FailureOr<Function *> callee = lookup(call);
    if (failed(callee))
      return failure();
    function.size += (*callee)->size;
    if (function.size > maxOps)
      return call->emitError()
             << "makes @" << function.op.getName() << " larger than " << maxOps
             << " operations once calls are inlined";
  }
  for (Operation *call : function.calls)
    inlineCall(call, (*lookup(call))->op);
  function.calls.clear();
  return success();
}

/// Depth first, without recursion: chains of calls may be long.
LogicalResult Inliner::visit(Function &root) {
  SmallVector<std::pair<Function *, size_t>> stack{{&root, 0}};
  root.state = Function::Open;
  while (!stack.empty()) {
    auto &[function, next] = stack.back();
    if (next == function->calls.size()) {
      if (failed(inlineInto(*function)))
        return failure();
      function->state = Function::Done;
      stack.pop_back();
      continue;
    }
    Operation *call = function->calls[next++];
    FailureOr<Function *> callee = lookup(call);
    if (failed(callee))
      return failure();
    if ((*callee)->state == Function::Open) {
      InFlightDiagnostic error =
          call->emitError() << "@" << (*callee)->op.getName()
                            << " calls itself, which cannot be inlined";
      error.attachNote((*callee)->op.getLoc()) << "the function";
      return error;
    }
    if ((*callee)->state == Function::New) {
      (*callee)->state = Function::Open;
      stack.push_back({*callee, 0});
    }
  }
  return success();
}

LogicalResult Inliner::run() {
  for (auto op : module.getOps<func::FuncOp>()) {
    auto function = std::make_unique<Function>();
    function->op = op;
    op.walk([&](Operation *inner) {
      ++function->size;
      if (getCallee(inner))
        function->calls.push_back(inner);
    });
    byName[op.getSymNameAttr()] = function.get();
    functions.push_back(std::move(function));
  }
  for (auto &function : functions)
    if (function->op.isPublic() && function->state == Function::New &&
        failed(visit(*function)))
      return failure();
  for (auto &function : functions)
    if (!function->op.isPublic())
      function->op.erase();
  return success();
}

LogicalResult pipemesh::inlineCalls(ModuleOp module) {
  return Inliner(module).run();
}
