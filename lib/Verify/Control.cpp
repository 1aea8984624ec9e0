//===- Control.cpp - evaluation of control flow ---------------------------===//
//
// Ranks may take different branches; those that do are evaluated apart. A
// collective that only some of its members reach is an error there.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace pipemesh::interp {

/// Runs region number `choose(rank)` on each of the ranks, and binds the results.
static LogicalResult runBranches(Evaluator &evaluator, Operation *op,
                                 ArrayRef<unsigned> active,
                                 llvm::function_ref<int64_t(unsigned)> choose) {
  for (auto [number, region] : llvm::enumerate(op->getRegions())) {
    SmallVector<unsigned> ranks;
    for (unsigned rank : active)
      if (choose(rank) == int64_t(number))
        ranks.push_back(rank);
    if (ranks.empty())
      continue;
    SmallVector<RankTensors> results;
    if (failed(evaluator.run(region, {}, ranks, results)))
      return failure();
    for (auto [value, tensors] : llvm::zip(op->getResults(), results))
      evaluator.bindOn(value, tensors, ranks);
  }
  return success();
}

static LogicalResult runIf(Evaluator &evaluator, Operation *op,
                           ArrayRef<unsigned> active) {
  RankTensors pred = evaluator.lookup(op->getOperand(0));
  return runBranches(evaluator, op, active, [&](unsigned rank) {
    return pred[rank].asInt(0) ? 0 : 1;
  });
}

static LogicalResult runCase(Evaluator &evaluator, Operation *op,
                             ArrayRef<unsigned> active) {
  RankTensors index = evaluator.lookup(op->getOperand(0));
  int64_t last = op->getNumRegions() - 1;
  return runBranches(evaluator, op, active, [&](unsigned rank) {
    int64_t value = index[rank].asInt(0);
    return value < 0 || value > last ? last : value;
  });
}

static LogicalResult runWhile(Evaluator &evaluator, Operation *op,
                              ArrayRef<unsigned> active) {
  auto loop = cast<stablehlo::WhileOp>(op);
  unsigned numRanks = evaluator.getGrid().getNumRanks();
  SmallVector<RankTensors> carried;
  for (Value operand : op->getOperands())
    carried.push_back(evaluator.lookup(operand));
  SmallVector<unsigned> ranks(active);
  while (!ranks.empty()) {
    SmallVector<RankTensors> more, next;
    if (failed(evaluator.run(loop.getCond(), carried, ranks, more)))
      return failure();
    llvm::erase_if(ranks,
                   [&](unsigned rank) { return !more[0][rank].asInt(0); });
    if (ranks.empty())
      break;
    if (failed(evaluator.run(loop.getBody(), carried, ranks, next)))
      return failure();
    for (auto [tensors, values] : llvm::zip(carried, next))
      for (unsigned rank : ranks)
        tensors[rank] = values[rank];
  }
  for (auto [value, tensors] : llvm::zip(op->getResults(), carried)) {
    tensors.resize(numRanks);
    evaluator.bindOn(value, tensors, active);
  }
  return success();
}

static LogicalResult runCall(Evaluator &evaluator, Operation *op,
                             ArrayRef<unsigned> active) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, cast<func::CallOp>(op).getCalleeAttr());
  if (!callee || callee.isExternal())
    return op->emitError("calls '")
           << cast<func::CallOp>(op).getCallee() << "', which has no body";
  if (evaluator.callDepth >= 100)
    return op->emitError("calls are nested deeper than 100: the function calls "
                         "itself");
  ++evaluator.callDepth;
  SmallVector<RankTensors> arguments, results;
  for (Value operand : op->getOperands())
    arguments.push_back(evaluator.lookup(operand));
  LogicalResult status =
      evaluator.run(callee.getBody(), arguments, active, results);
  --evaluator.callDepth;
  if (failed(status))
    return failure();
  for (auto [value, tensors] : llvm::zip(op->getResults(), results))
    evaluator.bindOn(value, tensors, active);
  return success();
}

void registerControlOps(OpRegistry &registry) {
  registry.addRanked("stablehlo.if", runIf);
  registry.addRanked("stablehlo.case", runCase);
  registry.addRanked("stablehlo.while", runWhile);
  registry.addRanked("func.call", runCall);
}

} // namespace pipemesh::interp
