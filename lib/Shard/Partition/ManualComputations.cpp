//===- ManualComputations.cpp - what is written for each rank -------------===//
//
// A manual computation is dissolved: its body becomes ops like all others.
// Inside, types are those of one rank of the manual axes, which is what a
// function of that rank would have as global types; over the other axes they
// are cut as usual.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// How a value crosses between outside, where it has a global type, and inside.
struct Crossing {
  ValueSharding outside, inside;
};
} // namespace

/// `attr` gives the cut over manual axes, `inner` that over the others. Blocks
/// of what a rank of the manual axes has need not be blocks of the whole; then
/// the value crosses uncut by the others.
static Crossing getCrossing(Partitioner &p, pm::ManualComputationOp op,
                            RankedTensorType global, Attribute attr,
                            const ValueSharding &inner) {
  auto isManual = [&](StringAttr axis) {
    return llvm::is_contained(op.getManualAxes(), axis);
  };
  Crossing crossing{ValueSharding(cast<pm::ShardingAttr>(attr)), inner};
  Axes partial;
  for (StringAttr axis : p.mesh.all())
    if (llvm::is_contained(
            isManual(axis) ? crossing.outside.partial : inner.partial, axis))
      partial.push_back(axis);
  crossing.outside.partial = partial;
  if (!inner.partial.empty())
    crossing.outside.kind = inner.kind;
  for (auto [size, outside, inside] : llvm::zip(
           global.getShape(), crossing.outside.dims, crossing.inside.dims)) {
    llvm::erase_if(outside.axes,
                   [&](StringAttr axis) { return !isManual(axis); });
    outside.block = 0;
    Cut manual = p.cutOf(size, outside), own = p.cutOf(manual.block, inside);
    if (own.isCut() && manual.isCut() &&
        own.block * own.blocks != manual.block) {
      inside = DimCut();
      continue;
    }
    outside.axes.append(inside.axes);
    outside.block = inside.block;
  }
  return crossing;
}

static LogicalResult convertManual(Partitioner &p, pm::ManualComputationOp op) {
  Block &body = op.getBody().front();
  p.why = "the manual computation takes or gives it so";
  if (failed(p.check(op.getBody())))
    return failure();
  for (auto [operand, attr, argument] :
       llvm::zip(op->getOperands(), op.getInShardings(), body.getArguments())) {
    RankedTensorType global = Partitioner::globalTypeOf(operand);
    const ValueSharding &own = p.shardingOf(argument);
    Crossing crossing = getCrossing(p, op, global, attr, own);
    Value value = p.localAs(op, operand, crossing.outside);
    if (value)
      value = p.reshard(op, value, Partitioner::globalTypeOf(argument),
                        crossing.inside, own);
    if (!value)
      return failure();
    p.define(argument, value);
  }
  if (failed(p.convertOps(body)))
    return failure();
  for (auto [value, attr, result] :
       llvm::zip(body.getTerminator()->getOperands(), op.getOutShardings(),
                 op->getResults())) {
    RankedTensorType global = Partitioner::globalTypeOf(result);
    Crossing crossing = getCrossing(p, op, global, attr, p.shardingOf(value));
    Value made = p.localAs(op, value, crossing.inside);
    if (made)
      made =
          p.reshard(op, made, global, crossing.outside, p.shardingOf(result));
    if (!made)
      return failure();
    p.define(result, made);
  }
  return success();
}

/// A collective of a manual computation joins or splits a dimension over its
/// own axes; over others the dimension is whole.
template <typename OpTy>
static LogicalResult convertCollective(Partitioner &p, OpTy op) {
  SmallVector<int64_t, 2> dims;
  if constexpr (std::is_same_v<OpTy, pm::AllToAllOp>)
    dims = {int64_t(op.getSplit()), int64_t(op.getConcat())};
  else
    dims = {int64_t(op.getDim())};
  for (Value value : {op.getInput(), op.getResult()})
    for (int64_t dim : dims)
      if (Cut cut = p.cutOf(value, dim); cut.isCut())
        return op.emitError("moves elements along dimension ")
               << dim << ", which is cut over '" << cut.axes.front().getValue()
               << "'; constrain it to be whole";
  if (failed(p.convertPlain(op)))
    return failure();
  if constexpr (std::is_same_v<OpTy, pm::AllGatherOp>) {
    p.why = "the module asks for it";
    p.explainGather(p.local(op.getResult()).getDefiningOp());
  }
  return success();
}

static LogicalResult convertAxisIndex(Partitioner &p, pm::AxisIndexOp op) {
  p.define(op.getResult(), p.axisIndex(op.getLoc(), op.getAxisAttr()));
  return success();
}

void pipemesh::registerManualHandlers(OpHandlers &handlers) {
  handlers.add<pm::ManualComputationOp, convertManual>();
  handlers.add<pm::AxisIndexOp, convertAxisIndex>();
  handlers.add<pm::AllGatherOp, convertCollective<pm::AllGatherOp>>();
  handlers.add<pm::ReduceScatterOp, convertCollective<pm::ReduceScatterOp>>();
  handlers.add<pm::AllToAllOp, convertCollective<pm::AllToAllOp>>();
}
