//===- Reshards.cpp - from one sharding to another by collectives ---------===//

#include "../Reshard.h"
#include "Partitioner.h"

using namespace mlir;
using namespace pipemesh;

ArrayAttr Partitioner::axesAttr(ArrayRef<StringAttr> axes) {
  SmallVector<Attribute> names(axes.begin(), axes.end());
  return builder.getArrayAttr(names);
}

void Partitioner::setPhase(Operation *exchange) {
  if (phase)
    exchange->setAttr(pm::kPhaseAttr, phase);
}

Value Partitioner::allReduce(Location loc, Value value, pm::ReductionKind kind,
                             ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return value;
  auto op = pm::AllReduceOp::create(
      builder, loc, TypeRange(value.getType()), value,
      pm::ReductionKindAttr::get(builder.getContext(), kind), axesAttr(axes),
      mesh.symbol());
  setPhase(op);
  return op.getResult(0);
}

Value Partitioner::allGather(Location loc, Value value, unsigned dim,
                             int64_t size, ArrayRef<StringAttr> axes) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  auto op = pm::AllGatherOp::create(builder, loc, type.clone(shape), value,
                                    builder.getI64IntegerAttr(dim),
                                    axesAttr(axes), mesh.symbol());
  setPhase(op);
  return op;
}

namespace {
/// Walks along the steps of a reshard.
class ReshardWalk {
public:
  ReshardWalk(Partitioner &p, Location loc, Value value,
              RankedTensorType global, ValueSharding from,
              const ValueSharding &to)
      : p(p), loc(loc), value(value), global(global), now(std::move(from)),
        source(now), target(to) {}

  void take(const ReshardStep &step);
  /// The value after all steps.
  Value finish() {
    slice();
    return value;
  }

private:
  /// The slices that are pending, in one op.
  void slice();
  /// What block a dimension has that is cut over these axes on the way.
  int64_t blockOf(unsigned dim, const Axes &axes) const {
    for (const ValueSharding *end : {&target, &source})
      if (end->dims[dim].axes == axes)
        return end->dims[dim].block;
    return 0;
  }
  int64_t sizeOf(unsigned dim) const {
    return p.cutOf(global.getDimSize(dim), now.dims[dim]).block;
  }

  Partitioner &p;
  Location loc;
  Value value;
  RankedTensorType global;
  ValueSharding now;
  const ValueSharding source;
  const ValueSharding &target;
  SmallVector<Axes> pending;
};
} // namespace

void ReshardWalk::slice() {
  if (pending.empty())
    return;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Cut> cuts;
  for (auto [dim, axes] : llvm::enumerate(pending)) {
    Cut cut = p.cutOf(type.getDimSize(dim), DimCut{axes, 0});
    if (cut.isCut())
      cut.block = sizeOf(dim);
    cuts.push_back(cut);
  }
  value = p.sliceBlock(loc, value, cuts);
  p.setPhase(value.getDefiningOp());
  pending.clear();
}

void ReshardWalk::take(const ReshardStep &step) {
  bool isDimStep = step.kind != ReshardStep::AllReduce;
  if (step.kind != ReshardStep::Slice)
    slice();
  if (isDimStep) {
    DimCut &cut = now.dims[step.dim];
    if (step.kind == ReshardStep::AllGather)
      cut.axes.truncate(cut.axes.size() - step.axes.size());
    else
      cut.axes.append(step.axes);
    cut.block = blockOf(step.dim, cut.axes);
  }
  switch (step.kind) {
  case ReshardStep::Slice:
    pending.resize(global.getRank());
    pending[step.dim].append(step.axes);
    return;
  case ReshardStep::AllReduce:
    value = p.allReduce(loc, value, source.kind, step.axes);
    return;
  case ReshardStep::AllGather:
    value = p.allGather(loc, value, step.dim, sizeOf(step.dim), step.axes);
    return;
  case ReshardStep::ReduceScatter: {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[step.dim] = sizeOf(step.dim);
    auto op = pm::ReduceScatterOp::create(
        p.builder, loc, type.clone(shape), value,
        pm::ReductionKindAttr::get(p.builder.getContext(), source.kind),
        p.builder.getI64IntegerAttr(step.dim), p.axesAttr(step.axes),
        p.mesh.symbol());
    p.setPhase(op);
    value = op;
    return;
  }
  }
}

Value Partitioner::reshard(Operation *op, Value value, RankedTensorType global,
                           const ValueSharding &from, const ValueSharding &to) {
  auto onlyCutting = [&](const ValueSharding &sharding) {
    ValueSharding list = sharding;
    for (DimCut &dim : list.dims) {
      dim.axes = cutting(dim.axes);
      if (dim.axes.empty())
        dim.block = 0;
    }
    list.partial = cutting(list.partial);
    return list;
  };
  ValueSharding source = onlyCutting(from), target = onlyCutting(to);
  std::string error;
  auto steps = findReshard(global, source, target, mesh, error);
  if (failed(steps)) {
    op->emitError("cannot reshard from ")
        << from.toAttr(mesh) << " to " << to.toAttr(mesh) << ": " << error;
    return {};
  }
  ReshardWalk walk(*this, op->getLoc(), value, global, source, target);
  for (const ReshardStep &step : *steps)
    walk.take(step);
  return walk.finish();
}

static LogicalResult convertReshard(Partitioner &p, pm::ReshardOp op) {
  Value value = p.reshard(
      op, p.local(op.getInput()), Partitioner::globalTypeOf(op.getResult()),
      ValueSharding(op.getSource()), ValueSharding(op.getTarget()));
  if (!value)
    return failure();
  p.define(op.getResult(), value);
  return success();
}

void pipemesh::registerReshardHandlers(OpHandlers &handlers) {
  handlers.add<pm::ReshardOp, convertReshard>();
}
