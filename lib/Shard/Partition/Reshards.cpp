//===- Reshards.cpp - from one sharding to another by collectives ---------===//

#include "../Gathers.h"
#include "../Reshard.h"
#include "RowExchange.h"
#include "pipemesh/Shard/SeededFaults.h"

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

void Partitioner::explainGather(Operation *gather) {
  if (!current)
    return;
  auto reshard = dyn_cast<pm::ReshardOp>(current);
  gather->setLoc(withGatherReason(
      gather->getLoc(),
      reshard ? findGatherReason(reshard)
              : GatherReason{current->getName().getStringRef(),
                             why ? why : "it needs what lies on other ranks"}));
}

Value Partitioner::allReduce(Location loc, Value value, pm::ReductionKind kind,
                             ArrayRef<StringAttr> axes) {
  if (axes.empty() || isSeeded(Fault::DroppedSum))
    return value;
  if (isSeeded(Fault::FewerAxes) && axes.size() > 1)
    axes = axes.drop_back();
  if (isSeeded(Fault::SumOfMaxima))
    kind = pm::ReductionKind::Sum;
  auto op = pm::AllReduceOp::create(
      builder, loc, TypeRange(value.getType()), value,
      pm::ReductionKindAttr::get(builder.getContext(), kind), axesAttr(axes),
      mesh.symbol());
  setPhase(op);
  return op.getResult(0);
}

Value Partitioner::allGather(Location loc, Value value, unsigned dim,
                             int64_t size, ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  Axes order(axes);
  if (isSeeded(Fault::GatherOrder))
    std::reverse(order.begin(), order.end());
  auto op = pm::AllGatherOp::create(builder, loc, type.clone(shape), value,
                                    builder.getI64IntegerAttr(dim),
                                    axesAttr(order), mesh.symbol());
  setPhase(op);
  explainGather(op);
  return op;
}

Value Partitioner::permute(Location loc, Value value, ArrayRef<int64_t> sources,
                           ArrayRef<StringAttr> axes) {
  SmallVector<int64_t> list(sources);
  if (isSeeded(Fault::PermuteBack)) {
    int64_t members = 1;
    for (StringAttr axis : axes)
      members *= mesh.sizeOf(axis);
    list.assign(sources.size(), -1);
    for (int64_t index = 0, size = sources.size(); index < size; ++index)
      if (sources[index] >= 0)
        list[index / members * members + sources[index]] = index % members;
  }
  auto op = pm::CollectivePermuteOp::create(
      builder, loc, value.getType(), value, axesAttr(axes),
      builder.getDenseI64ArrayAttr(list), mesh.symbol());
  setPhase(op);
  return op;
}

namespace {
/// Walks along the steps of a reshard.
class ReshardWalk {
public:
  ReshardWalk(Partitioner &p, Location loc, Value value,
              RankedTensorType global, const ValueSharding &from)
      : p(p), loc(loc), value(value), global(global), now(from), sliced(from) {}

  void take(const ReshardStep &step);
  /// The value after all steps.
  Value finish() {
    slice();
    return value;
  }

private:
  /// The slices that are pending, in one op.
  void slice();
  void permute(const ReshardStep &step);
  void exchangePieces(const ReshardStep &step);
  template <typename OpTy, typename... Args>
  void exchange(RankedTensorType type, Args... args) {
    auto op = OpTy::create(p.builder, loc, type, value, args...);
    p.setPhase(op);
    value = op;
  }

  Partitioner &p;
  Location loc;
  Value value;
  RankedTensorType global;
  /// Of `value`, and with the pending slices.
  ValueSharding now, sliced;
};
} // namespace

void ReshardWalk::slice() {
  if (now == sliced)
    return;
  SmallVector<Partitioner::Window> windows;
  for (auto [size, before, after] :
       llvm::zip(global.getShape(), now.dims, sliced.dims))
    windows.push_back({p.cutOf(size, before), p.cutOf(size, after)});
  value = p.sliceWindows(loc, value, windows);
  p.setPhase(value.getDefiningOp());
  now = sliced;
}

void ReshardWalk::permute(const ReshardStep &step) {
  SmallVector<int64_t> sources =
      findPermuteSources(global, now, step.after, step.axes, p.mesh);
  value = p.permute(loc, value, sources, step.axes);
}

void ReshardWalk::exchangePieces(const ReshardStep &step) {
  BlockBuilder b(p, loc);
  ArrayRef<int64_t> piece = step.pieces->shape;
  int64_t rank = piece.size();
  // Blocks of pieces, or pieces within blocks: (blocks, piece) for each
  // dimension, and all blocks in front of all dimensions of a piece.
  auto countsOf = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> counts;
    for (auto [size, own] : llvm::zip(shape, piece))
      counts.push_back(own ? size / own : 1);
    return counts;
  };
  SmallVector<int64_t> has = countsOf(BlockBuilder::shapeOf(value)),
                       needs = countsOf(step.shape);
  SmallVector<int64_t> within, apart, list{1};
  for (int64_t dim = 0; dim < rank; ++dim) {
    within.push_back(has[dim]);
    within.push_back(piece[dim]);
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    apart.push_back(2 * dim);
  for (int64_t dim = 0; dim < rank; ++dim)
    apart.push_back(2 * dim + 1);
  for (int64_t count : has)
    list[0] *= count;
  list.append(piece.begin(), piece.end());
  value = b.reshape(b.transpose(b.reshape(value, within), apart), list);
  value = exchangeRows(b, value, {}, 0, step.pieces->exchange, step.axes);
  SmallVector<int64_t> parts(needs), order;
  parts.append(piece.begin(), piece.end());
  for (int64_t dim = 0; dim < rank; ++dim) {
    order.push_back(dim);
    order.push_back(rank + dim);
  }
  value = b.reshape(b.transpose(b.reshape(value, parts), order), step.shape);
}

void ReshardWalk::take(const ReshardStep &step) {
  if (step.kind == StepKind::Slice) {
    sliced = step.after;
    return;
  }
  slice();
  auto type = cast<RankedTensorType>(value.getType()).clone(step.shape);
  auto dim = [&](unsigned number) {
    return p.builder.getI64IntegerAttr(number);
  };
  Axes order(step.axes.begin(), step.axes.end());
  if ((step.kind == StepKind::AllGather && isSeeded(Fault::GatherOrder)) ||
      (step.kind == StepKind::ReduceScatter && isSeeded(Fault::ScatterOrder)) ||
      (step.kind == StepKind::AllToAll && isSeeded(Fault::MoveOrder)))
    std::reverse(order.begin(), order.end());
  ArrayAttr axes = p.axesAttr(order);
  switch (step.kind) {
  case StepKind::Slice:
    break;
  case StepKind::AllReduce:
    value = p.allReduce(loc, value, now.kind, step.axes);
    break;
  case StepKind::AllGather:
    exchange<pm::AllGatherOp>(type, dim(step.dim), axes, p.mesh.symbol());
    p.explainGather(value.getDefiningOp());
    break;
  case StepKind::ReduceScatter:
    exchange<pm::ReduceScatterOp>(
        type, pm::ReductionKindAttr::get(p.builder.getContext(), now.kind),
        dim(step.dim), axes, p.mesh.symbol());
    break;
  case StepKind::AllToAll:
    exchange<pm::AllToAllOp>(type, dim(step.split), dim(step.dim), axes,
                             p.mesh.symbol());
    break;
  case StepKind::Permute:
    permute(step);
    break;
  case StepKind::Exchange:
    exchangePieces(step);
    break;
  }
  now = sliced = step.after;
}

/// What a rank has of all its micro-batches together may be more than there is
/// of the dimension: a block of three rows each of eight. That is left out.
static Value takeWhole(Partitioner &p, Location loc, Value value,
                       RankedTensorType global, const ValueSharding &sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> ends(type.getShape()), zeros(ends.size(), 0),
      ones(ends.size(), 1);
  for (auto [size, dim, end] :
       llvm::zip(global.getShape(), sharding.dims, ends))
    if (p.cutOf(size, dim).axes.empty())
      end = std::min(end, size);
  if (ArrayRef(ends) == type.getShape())
    return value;
  return stablehlo::SliceOp::create(p.builder, loc, type.clone(ends), value,
                                    zeros, ends, ones);
}

/// And there again, as zeros.
static Value padWhole(Partitioner &p, Location loc, Value value,
                      RankedTensorType global, const ValueSharding &sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> zeros(type.getRank(), 0), high(zeros);
  for (auto [size, dim, more] :
       llvm::zip(global.getShape(), sharding.dims, high))
    if (Cut cut = p.cutOf(size, dim); cut.axes.empty())
      more = cut.block - size;
  if (high == zeros)
    return value;
  return stablehlo::PadOp::create(p.builder, loc, value,
                                  p.zero(loc, type.getElementType()), zeros,
                                  high, zeros);
}

Value Partitioner::reshard(Operation *op, Value value, RankedTensorType global,
                           const ValueSharding &from, const ValueSharding &to) {
  ValueSharding source = onlyCutting(global, from),
                target = onlyCutting(global, to);
  // A maximum is no part of a sum.
  if (!source.partial.empty() && !target.partial.empty() &&
      source.kind != target.kind) {
    ValueSharding whole = from;
    whole.partial.clear();
    Value complete = reshard(op, value, global, from, whole);
    return complete ? reshard(op, complete, global, whole, to) : Value();
  }
  if (ValueSharding whole(global.getRank());
      isSeeded(Fault::WholeReshards) && target.partial.empty() &&
      source != target && source != whole && target != whole) {
    value = reshard(op, value, global, from, whole);
    return value ? reshard(op, value, global, whole, to) : Value();
  }
  // What all ranks have is a part of a sum on the first one and zero on the
  // others, and a part of a maximum or minimum on each.
  Axes added;
  for (StringAttr axis : target.partial)
    if (!llvm::is_contained(source.partial, axis) && !mesh.isTemporal(axis))
      added.push_back(axis);
  if (!added.empty()) {
    ValueSharding fewer = to;
    llvm::erase_if(fewer.partial, [&](StringAttr axis) {
      return llvm::is_contained(added, axis);
    });
    value = reshard(op, value, global, from, fewer);
    return value && to.kind == pm::ReductionKind::Sum
               ? onlyOnFirst(op->getLoc(), value, added)
               : value;
  }
  std::string error;
  auto steps = reshards.find(global, source, target, error);
  if (failed(steps)) {
    op->emitError("cannot reshard from ")
        << from.toAttr(mesh) << " to " << to.toAttr(mesh) << ": " << error;
    return {};
  }
  value = takeWhole(*this, op->getLoc(), value, global, from);
  ReshardWalk walk(*this, op->getLoc(), value, global, source);
  for (const ReshardStep &step : **steps)
    walk.take(step);
  return padWhole(*this, op->getLoc(), walk.finish(), global, to);
}

static LogicalResult convertReshard(Partitioner &p, pm::ReshardOp op) {
  Value value = p.bring(op, op.getInput(), ValueSharding(op.getTarget()));
  if (!value)
    return failure();
  p.define(op.getResult(), value);
  return success();
}

void pipemesh::registerReshardHandlers(OpHandlers &handlers) {
  handlers.add<pm::ReshardOp, convertReshard>();
}
