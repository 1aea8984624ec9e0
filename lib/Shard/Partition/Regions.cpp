//===- Regions.cpp - loops and branches on blocks -------------------------===//
//
// A region's values are blocks like all others. A carried value has one
// sharding: that of the op's result. Where an operand or what a region yields
// lies otherwise, it is brought there.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

using namespace mlir;
using namespace pipemesh;

/// A value as one lies that it is joined to: a zero is partial over everything.
static Value localAsJoined(Partitioner &p, Operation *op, Value value,
                           ValueSharding target) {
  if (isKnownZero(value) && p.shardingOf(value).partial.empty())
    target.partial.clear();
  return p.localAs(op, value, target);
}

/// The end of a region whose values become `results`, or whole scalars.
static LogicalResult yield(Partitioner &p, Operation *end, ValueRange results) {
  SmallVector<Value> values;
  for (auto [index, operand] : llvm::enumerate(end->getOperands())) {
    Value value = index < results.size()
                      ? localAsJoined(p, end, operand,
                                      p.shardingOf(results[index]))
                      : p.localAs(end, operand, ValueSharding(0));
    if (!value)
      return failure();
    values.push_back(value);
  }
  stablehlo::ReturnOp::create(p.builder, end->getLoc(), values);
  return success();
}

/// The op without regions; null after an error.
static Operation *createWithRegions(Partitioner &p, Operation *op,
                                    ValueRange operands) {
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(p.localTypeOf(result));
  return p.copy(op, operands, types, /*withRegions=*/false);
}

static LogicalResult convertWhile(Partitioner &p, stablehlo::WhileOp op) {
  p.why = "the loop carries it so";
  SmallVector<Value> operands;
  for (auto [operand, result] :
       llvm::zip(op->getOperands(), op->getResults())) {
    Value value = localAsJoined(p, op, operand, p.shardingOf(result));
    if (!value)
      return failure();
    operands.push_back(value);
  }
  auto loop = cast<stablehlo::WhileOp>(createWithRegions(p, op, operands));
  auto endCond = [&](Operation *end) { return yield(p, end, {}); };
  auto endBody = [&](Operation *end) {
    return yield(p, end, op->getResults());
  };
  if (failed(p.convertRegion(op.getCond(), loop.getCond(),
                             loop->getResultTypes(), endCond)) ||
      failed(p.convertRegion(op.getBody(), loop.getBody(),
                             loop->getResultTypes(), endBody)))
    return failure();
  p.define(op->getResults(), loop->getResults());
  return success();
}

/// if, case: every rank takes the same branch.
static LogicalResult convertBranches(Partitioner &p, Operation *op) {
  p.why = "the choice gives it so";
  Value index = p.localAs(op, op->getOperand(0), ValueSharding(0));
  if (!index)
    return failure();
  Operation *made = createWithRegions(p, op, index);
  for (auto [from, to] : llvm::zip(op->getRegions(), made->getRegions()))
    if (failed(p.convertRegion(from, to, {}, [&](Operation *end) {
          return yield(p, end, op->getResults());
        })))
      return failure();
  p.define(op->getResults(), made->getResults());
  return success();
}

static LogicalResult convertIf(Partitioner &p, stablehlo::IfOp op) {
  return convertBranches(p, op);
}
static LogicalResult convertCase(Partitioner &p, stablehlo::CaseOp op) {
  return convertBranches(p, op);
}

void pipemesh::registerRegionHandlers(OpHandlers &handlers) {
  handlers.add<stablehlo::WhileOp, convertWhile>();
  handlers.add<stablehlo::IfOp, convertIf>();
  handlers.add<stablehlo::CaseOp, convertCase>();
}
