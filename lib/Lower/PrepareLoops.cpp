//===- PrepareLoops.cpp - pm-prepare-loops --------------------------------===//

#include "ControlFlow.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Lower/TripCount.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/ADT/BitVector.h"

namespace pipemesh {
#define GEN_PASS_DEF_PREPARELOOPS
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

/// Values that a loop carries and never changes are read where they are.
static stablehlo::WhileOp dropInvariants(stablehlo::WhileOp op) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  Operation *terminator = body.getTerminator();
  llvm::BitVector dropped(op->getNumOperands());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value value = terminator->getOperand(i);
    if (value == body.getArgument(i) || value == op->getOperand(i))
      dropped.set(i);
  }
  if (dropped.none())
    return op;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Attribute> shardings;
  auto list = op->getAttrOfType<ArrayAttr>(pm::kShardingsAttr);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value initial = op->getOperand(i);
    if (dropped[i]) {
      cond.getArgument(i).replaceAllUsesWith(initial);
      body.getArgument(i).replaceAllUsesWith(initial);
      op->getResult(i).replaceAllUsesWith(initial);
      continue;
    }
    operands.push_back(initial);
    types.push_back(op->getResult(i).getType());
    if (list)
      shardings.push_back(list[i]);
  }
  OpBuilder builder(op);
  OperationState state(op.getLoc(), op->getName(), operands, types,
                       op->getAttrs());
  state.addRegion()->takeBody(op.getCond());
  state.addRegion()->takeBody(op.getBody());
  auto made = cast<stablehlo::WhileOp>(builder.create(state));
  if (list)
    made->setAttr(pm::kShardingsAttr, builder.getArrayAttr(shardings));
  made.getCond().front().eraseArguments(dropped);
  made.getBody().front().eraseArguments(dropped);
  made.getBody().front().getTerminator()->eraseOperands(dropped);
  for (unsigned i = 0, next = 0; i < op->getNumResults(); ++i)
    if (!dropped[i])
      op->getResult(i).replaceAllUsesWith(made->getResult(next++));
  op.erase();
  return made;
}

namespace {
struct PrepareLoops : pipemesh::impl::PrepareLoopsBase<PrepareLoops> {
  void runOnOperation() override {
    SmallVector<stablehlo::OptimizationBarrierOp> barriers;
    SmallVector<stablehlo::WhileOp> loops;
    // Outer loops first: what they do not change, inner ones do not either.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto barrier = dyn_cast<stablehlo::OptimizationBarrierOp>(op))
        barriers.push_back(barrier);
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
        loops.push_back(loop);
    });
    for (stablehlo::OptimizationBarrierOp barrier : barriers) {
      barrier->replaceAllUsesWith(barrier->getOperands());
      barrier.erase();
    }
    for (stablehlo::WhileOp loop : loops) {
      loop = dropInvariants(loop);
      if (std::optional<int64_t> trips = countTrips(loop))
        loop->setAttr(kTripsAttr,
                      OpBuilder(loop).getI64IntegerAttr(*trips));
    }
  }
};
} // namespace
