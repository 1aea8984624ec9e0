//===- Collectives.cpp - evaluation of pm ops between ranks ---------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <cmath>

using namespace mlir;

namespace pipemesh::interp {

/// On global values these say something about their place only.
static LogicalResult identity(LocalCall &call) {
  call.results.push_back(call.operands[0]);
  return success();
}

static LogicalResult axisIndex(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto index = cast<pm::AxisIndexOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  if (!grid.getAxisSize(index.getAxis()))
    return op->emitError("axis '")
           << index.getAxis()
           << "' is not one of the mesh that the program runs on";
  RankTensors result(grid.getNumRanks());
  for (unsigned rank : active)
    result[rank] = Tensor::splat(
        cast<RankedTensorType>(op->getResult(0).getType()),
        grid.getCoordinate(index.getAxis(), rank, evaluator.getMicroBatch()));
  evaluator.bindOn(op->getResult(0), result, active);
  return success();
}

template <typename T> static T joinTwo(pm::ReductionKind kind, T a, T b) {
  switch (kind) {
  case pm::ReductionKind::Sum:
    return a + b;
  case pm::ReductionKind::Max:
    return a < b || b != b ? b : a;
  case pm::ReductionKind::Min:
    return b < a || b != b ? b : a;
  }
  llvm_unreachable("covered");
}

void joinInto(Tensor &sum, const Tensor &part, pm::ReductionKind kind) {
  IntegerFormat format = IntegerFormat::get(sum.getElementType());
  // Sums of complex numbers are those of their parts.
  int64_t count = sum.size() * (sum.isComplex() ? 2 : 1);
  for (int64_t i = 0; i < count; ++i) {
    if (sum.isFloat() || sum.isComplex())
      sum.floats()[i] = joinTwo(kind, sum.floats()[i], part.floats()[i]);
    else
      sum.ints()[i] = format.wrap(joinTwo(kind, sum.ints()[i], part.ints()[i]));
  }
}

/// The axes of a collective, which must be spatial ones of the mesh.
static FailureOr<SmallVector<StringRef>>
getAxes(const RankGrid &grid, Operation *op, ArrayAttr list) {
  SmallVector<StringRef> axes;
  for (auto axis : list.getAsRange<StringAttr>()) {
    if (!grid.getAxisSize(axis) || grid.isTemporal(axis))
      return op->emitError("axis '")
             << axis.getValue()
             << "' is not a spatial axis of the mesh that the program runs on";
    axes.push_back(axis);
  }
  return axes;
}

/// Calls evaluate(members) for each group of the active ranks that differ on
/// the axes, its members in the order of ranks; all of a group must be here.
static LogicalResult
forEachGroup(const RankGrid &grid, Operation *op, ArrayRef<StringRef> axes,
             ArrayRef<unsigned> active,
             llvm::function_ref<void(ArrayRef<unsigned>)> evaluate) {
  llvm::SmallDenseSet<unsigned> done;
  for (unsigned rank : active) {
    if (done.contains(rank))
      continue;
    SmallVector<unsigned> group = grid.getGroup(rank, axes);
    for (unsigned member : group)
      if (!llvm::is_contained(active, member))
        return op->emitError("rank ")
               << rank << " waits here for rank " << member
               << ", which took another branch";
    done.insert(group.begin(), group.end());
    evaluate(group);
  }
  return success();
}

static Tensor joinParts(const RankTensors &parts, ArrayRef<unsigned> group,
                        pm::ReductionKind kind) {
  Tensor sum = parts[group.front()].clone();
  for (unsigned member : group.drop_front())
    joinInto(sum, parts[member], kind);
  return sum;
}

static LogicalResult allReduce(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto reduce = cast<pm::AllReduceOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  auto axes = getAxes(grid, op, reduce.getAxes());
  if (failed(axes))
    return failure();
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    const RankTensors parts = evaluator.lookup(op->getOperand(index));
    RankTensors results(grid.getNumRanks());
    auto evaluate = [&](ArrayRef<unsigned> group) {
      Tensor sum = joinParts(parts, group, reduce.getKind());
      for (unsigned member : group)
        results[member] = sum;
    };
    if (failed(forEachGroup(grid, op, *axes, active, evaluate)))
      return failure();
    evaluator.bindOn(op->getResult(index), results, active);
  }
  return success();
}

/// Copies a member's block of dimension `dim` between it and the whole; what of
/// it lies behind the end is left as it is.
static void copyBlock(const Tensor &from, Tensor &to, int64_t dim,
                      int64_t number) {
  bool isGather = from.getShape()[dim] < to.getShape()[dim];
  const Tensor &whole = isGather ? to : from, &block = isGather ? from : to;
  SmallVector<int64_t> shape(block.getShape());
  int64_t start = number * shape[dim];
  shape[dim] =
      std::clamp<int64_t>(whole.getShape()[dim] - start, 0, shape[dim]);
  StridedBox atWhole{0, getStrides(whole.getShape())};
  atWhole.offset = start * atWhole.strides[dim];
  StridedBox atBlock{0, getStrides(block.getShape())};
  copyBox(shape, from, isGather ? atBlock : atWhole, to,
          isGather ? atWhole : atBlock);
}

/// Which block of its group a rank has: the first of the axes is the outermost.
static int64_t getBlock(const RankGrid &grid, ArrayRef<StringRef> axes,
                        unsigned rank) {
  int64_t block = 0;
  for (StringRef axis : axes)
    block = block * grid.getAxisSize(axis) + grid.getCoordinate(axis, rank, 0);
  return block;
}

static LogicalResult allGather(Evaluator &evaluator, Operation *op,
                               ArrayRef<unsigned> active) {
  auto gather = cast<pm::AllGatherOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  auto axes = getAxes(grid, op, gather.getAxes());
  if (failed(axes))
    return failure();
  const RankTensors parts = evaluator.lookup(gather.getInput());
  RankTensors results(grid.getNumRanks());
  auto evaluate = [&](ArrayRef<unsigned> group) {
    Tensor whole =
        Tensor::poison(cast<RankedTensorType>(gather.getResult().getType()));
    for (unsigned member : group)
      copyBlock(parts[member], whole, gather.getDim(),
                getBlock(grid, *axes, member));
    for (unsigned member : group)
      results[member] = whole;
  };
  if (failed(forEachGroup(grid, op, *axes, active, evaluate)))
    return failure();
  evaluator.bindOn(gather.getResult(), results, active);
  return success();
}

static LogicalResult reduceScatter(Evaluator &evaluator, Operation *op,
                                   ArrayRef<unsigned> active) {
  auto scatter = cast<pm::ReduceScatterOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  auto axes = getAxes(grid, op, scatter.getAxes());
  if (failed(axes))
    return failure();
  const RankTensors parts = evaluator.lookup(scatter.getInput());
  RankTensors results(grid.getNumRanks());
  auto evaluate = [&](ArrayRef<unsigned> group) {
    Tensor sum = joinParts(parts, group, scatter.getKind());
    for (unsigned member : group) {
      results[member] =
          Tensor::poison(cast<RankedTensorType>(scatter.getResult().getType()));
      copyBlock(sum, results[member], scatter.getDim(),
                getBlock(grid, *axes, member));
    }
  };
  if (failed(forEachGroup(grid, op, *axes, active, evaluate)))
    return failure();
  evaluator.bindOn(scatter.getResult(), results, active);
  return success();
}

static LogicalResult allToAll(Evaluator &evaluator, Operation *op,
                              ArrayRef<unsigned> active) {
  auto exchange = cast<pm::AllToAllOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  auto axes = getAxes(grid, op, exchange.getAxes());
  if (failed(axes))
    return failure();
  auto before = cast<RankedTensorType>(exchange.getInput().getType());
  auto after = cast<RankedTensorType>(exchange.getResult().getType());
  int64_t split = exchange.getSplit(), concat = exchange.getConcat();
  // The joined dimension whole, the other one not yet cut.
  SmallVector<int64_t> shape(before.getShape());
  shape[concat] = after.getDimSize(concat);
  const RankTensors parts = evaluator.lookup(exchange.getInput());
  RankTensors results(grid.getNumRanks());
  auto evaluate = [&](ArrayRef<unsigned> group) {
    Tensor whole = Tensor::poison(before.clone(shape));
    for (unsigned member : group)
      copyBlock(parts[member], whole, concat, getBlock(grid, *axes, member));
    for (unsigned member : group) {
      results[member] = Tensor::poison(after);
      copyBlock(whole, results[member], split, getBlock(grid, *axes, member));
    }
  };
  if (failed(forEachGroup(grid, op, *axes, active, evaluate)))
    return failure();
  evaluator.bindOn(exchange.getResult(), results, active);
  return success();
}

static LogicalResult collectivePermute(Evaluator &evaluator, Operation *op,
                                       ArrayRef<unsigned> active) {
  auto permute = cast<pm::CollectivePermuteOp>(op);
  const RankGrid &grid = evaluator.getGrid();
  auto axes = getAxes(grid, op, permute.getAxes());
  if (failed(axes))
    return failure();
  const RankTensors parts = evaluator.lookup(permute.getInput());
  RankTensors results(grid.getNumRanks());
  ArrayRef<int64_t> sources = permute.getSources();
  bool fits = true;
  auto evaluate = [&](ArrayRef<unsigned> group) {
    fits &= !sources.empty() && sources.size() % group.size() == 0;
    if (!fits)
      return;
    SmallVector<unsigned> byBlock(group.size());
    for (unsigned member : group)
      byBlock[getBlock(grid, *axes, member)] = member;
    auto type = cast<RankedTensorType>(permute.getResult().getType());
    int64_t count = sources.size() / group.size();
    int64_t size = type.getNumElements() / count;
    for (unsigned member : group) {
      unsigned block = getBlock(grid, *axes, member);
      if (count == 1 && sources[block] >= 0) {
        results[member] = parts[byBlock[sources[block]]];
        continue;
      }
      results[member] = Tensor::splat(type, 0);
      for (int64_t part = 0; part < count; ++part)
        if (int64_t source = sources[part * group.size() + block]; source >= 0)
          copyBox({size}, parts[byBlock[source]], {part * size, {1}},
                  results[member], {part * size, {1}});
    }
  };
  if (failed(forEachGroup(grid, op, *axes, active, evaluate)))
    return failure();
  if (!fits)
    return op->emitError("names the sources of ")
           << sources.size()
           << " members, but the mesh that the program runs on has others";
  evaluator.bindOn(permute.getResult(), results, active);
  return success();
}

/// An id outside of the table is an error of the data.
static LogicalResult checkIds(Operation *op, const Tensor &ids, int64_t rows) {
  for (int64_t i = 0, e = ids.size(); i < e; ++i)
    if (ids.asInt(i) < 0 || ids.asInt(i) >= rows)
      return op->emitError("id ")
             << ids.asInt(i) << " is not a row of the table of " << rows
             << " rows";
  return success();
}

static LogicalResult embedding(LocalCall &call) {
  const Tensor &table = call.operands[0], &ids = call.operands[1];
  if (failed(checkIds(call.op, ids, table.getShape()[0])))
    return failure();
  Tensor result(call.getResultType());
  int64_t width = table.getShape()[1];
  for (int64_t i = 0, e = ids.size(); i < e; ++i)
    copyBox({width}, table, {ids.asInt(i) * width, {1}}, result,
            {i * width, {1}});
  call.results.push_back(result);
  return success();
}

void registerPMOps(OpRegistry &registry) {
  registry.addElementwise("pm.constrain", identity);
  registry.addElementwise("pm.reshard", identity);
  registry.addRanked("pm.sharding_group",
                     [](Evaluator &, Operation *, ArrayRef<unsigned>) {
                       return success(); // It says where values lie.
                     });
  registry.addRanked("pm.axis_index", axisIndex);
  registry.addRanked("pm.all_reduce", allReduce);
  registry.addRanked("pm.all_gather", allGather);
  registry.addRanked("pm.reduce_scatter", reduceScatter);
  registry.addRanked("pm.all_to_all", allToAll);
  registry.addRanked("pm.collective_permute", collectivePermute);
  registry.addLocal("pm.embedding", embedding);
}

} // namespace pipemesh::interp
