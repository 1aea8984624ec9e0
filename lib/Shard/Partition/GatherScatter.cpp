//===- GatherScatter.cpp - indexed reads and writes of cut dimensions -----===//
//
// An index is clamped as that of the whole dimension, and then counted from the
// rank's block. A gather gives what the rank has of the operand, and zero for
// the rest: the results add up. A scatter drops updates that fall outside of
// the input, so each rank applies those of its block.
//
//===----------------------------------------------------------------------===//

#include "../Rules/Monoids.h"
#include "IndexMath.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// The offsets of the blocks that index components address.
static SmallVector<Value> offsetsOf(BlockBuilder &b, ArrayRef<Cut> cuts,
                                    ArrayRef<int64_t> components) {
  SmallVector<Value> offsets;
  for (int64_t dim : components)
    offsets.push_back(b.p.offsetOf(b.loc, cuts[dim]));
  return offsets;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

namespace {
/// A gather on a block. Windows along cut dimensions become dimensions of the
/// indices, one index for each element, since a rank may have a part of them.
struct BlockGather {
  BlockGather(BlockBuilder &b, GatherOp op, ArrayRef<Cut> cuts)
      : b(b), op(op), dims(op.getDimensionNumbers()), cuts(cuts),
        sizes(op.getSliceSizes()) {}

  Value build(Value operand, Value indices, RankedTensorType type);

private:
  bool isSplit(int64_t dim) const {
    return cuts[dim].isCut() &&
           (sizes[dim] != cuts[dim].size ||
            llvm::is_contained(dims.getCollapsedSliceDims(), dim));
  }
  /// The operand's dimensions that run inside a window, in order.
  SmallVector<int64_t> windowDims() const;
  void expandWindows(RankedTensorType result);
  /// Whether this rank has what each index vector addresses.
  Value findOwn();

  BlockBuilder &b;
  GatherOp op;
  GatherDimensionNumbersAttr dims;
  ArrayRef<Cut> cuts;
  SmallVector<int64_t> sizes;
  Value indices;
};
} // namespace

SmallVector<int64_t> BlockGather::windowDims() const {
  SmallVector<int64_t> list;
  for (int64_t dim = 0, rank = cuts.size(); dim < rank; ++dim)
    if (!llvm::is_contained(dims.getCollapsedSliceDims(), dim) &&
        !llvm::is_contained(dims.getOperandBatchingDims(), dim))
      list.push_back(dim);
  return list;
}

void BlockGather::expandWindows(RankedTensorType result) {
  SmallVector<int64_t> offsets(dims.getOffsetDims());
  SmallVector<int64_t> kept, collapsed(dims.getCollapsedSliceDims());
  SmallVector<std::pair<int64_t, int64_t>> expanded; // (operand, result)
  for (auto [dim, resultDim] : llvm::zip(windowDims(), offsets)) {
    if (isSplit(dim) && sizes[dim] > 1)
      expanded.emplace_back(dim, resultDim);
    else
      kept.push_back(resultDim);
  }
  if (expanded.empty())
    return;
  // The new indices: the dimensions of the result outside of the windows that
  // are left, and the vector last.
  int64_t vectorDim = dims.getIndexVectorDim();
  int64_t components = dims.getStartIndexMap().size();
  SmallVector<int64_t> old(TensorBuilder::shapeOf(indices));
  if (vectorDim == static_cast<int64_t>(old.size())) {
    old.push_back(1);
    indices = b.reshape(indices, old);
  }
  SmallVector<int64_t> shape, oldToNew(old.size(), -1), resultToNew;
  int64_t nextOld = 0;
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    resultToNew.push_back(shape.size());
    if (llvm::is_contained(kept, dim))
      continue;
    if (!llvm::is_contained(offsets, dim)) {
      nextOld += nextOld == vectorDim;
      oldToNew[nextOld++] = shape.size();
    }
    shape.push_back(result.getDimSize(dim));
  }
  int64_t last = oldToNew[vectorDim] = shape.size();
  shape.push_back(components);
  indices = b.broadcast(indices, oldToNew, shape);
  for (auto [dim, resultDim] : expanded) {
    int64_t number = llvm::find(dims.getStartIndexMap(), dim) -
                     dims.getStartIndexMap().begin();
    SmallVector<Value> isOwn(components, b.constant(0));
    isOwn[number] = b.constant(1);
    indices = b.add(indices, b.mul(b.places(shape, resultToNew[resultDim]),
                                   b.spreadComponents(isOwn, shape, last)));
    collapsed.push_back(dim);
    sizes[dim] = 1;
  }
  llvm::sort(collapsed);
  SmallVector<int64_t> batching;
  for (int64_t dim : dims.getStartIndicesBatchingDims())
    batching.push_back(oldToNew[dim]);
  dims = GatherDimensionNumbersAttr::get(
      op.getContext(), kept, collapsed, dims.getOperandBatchingDims(), batching,
      dims.getStartIndexMap(), last);
}

Value BlockGather::findOwn() {
  Value own;
  for (auto [number, dim] : llvm::enumerate(dims.getStartIndexMap())) {
    if (!isSplit(dim))
      continue;
    Value place = b.component(indices, number, dims.getIndexVectorDim());
    Value inside = b.isWithin(place, 0, cuts[dim].block);
    own = own ? b.both(own, inside) : inside;
  }
  return own;
}

Value BlockGather::build(Value operand, Value starts, RankedTensorType type) {
  bool anySplit = false;
  indices = starts;
  SmallVector<int64_t> low, high;
  for (int64_t dim : dims.getStartIndexMap()) {
    anySplit |= isSplit(dim);
    low.push_back(0);
    high.push_back(cuts[dim].size - sizes[dim]);
  }
  if (anySplit) {
    int64_t vectorDim = dims.getIndexVectorDim();
    indices = b.clampIndices(indices, low, high, vectorDim);
    indices = b.sub(
        indices,
        b.spreadComponents(offsetsOf(b, cuts, dims.getStartIndexMap()),
                           TensorBuilder::shapeOf(indices), vectorDim));
    expandWindows(type);
  }
  Value own = anySplit ? findOwn() : Value();
  for (auto [size, cut] : llvm::zip_equal(sizes, cuts))
    if (cut.isCut() && size == cut.size)
      size = cut.block;
  auto gather = cast<GatherOp>(b.p.copy(op, {operand, indices}, type));
  gather.setDimensionNumbersAttr(dims);
  gather.setSliceSizes(sizes);
  if (!anySplit)
    return gather;
  gather.setIndicesAreSorted(false);
  SmallVector<int64_t> batch;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims.getOffsetDims(), dim))
      batch.push_back(dim);
  return b.select(b.broadcast(own, batch, type.getShape()), gather,
                  b.zeros(type));
}

static LogicalResult convertGather(Partitioner &p, GatherOp op) {
  BlockBuilder b(p, op.getLoc());
  SmallVector<Cut> cuts = p.cutsOf(op.getOperand());
  p.define(op.getResult(),
           BlockGather(b, op, cuts)
               .build(p.local(op.getOperand()), p.local(op.getStartIndices()),
                      p.localTypeOf(op.getResult())));
  return success();
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

namespace {
/// A scatter on a block.
struct BlockScatter {
  BlockScatter(BlockBuilder &b, ScatterOp op)
      : b(b), p(b.p), op(op), dims(op.getScatterDimensionNumbers()),
        cuts(p.cutsOf(op->getResult(0))),
        indexCuts(p.cutsOf(op.getScatterIndices())) {}

  LogicalResult build();

private:
  bool isIndexBatching(int64_t dim) const {
    return llvm::is_contained(dims.getScatterIndicesBatchingDims(), dim);
  }
  /// How many elements a window has along an input's dimension.
  int64_t windowSize(int64_t dim);
  Value countFromBlock(Value indices);
  Value dropPadding(Value indices);
  Value toFirst(Value input, const Axes &axes);

  BlockBuilder &b;
  Partitioner &p;
  ScatterOp op;
  ScatterDimensionNumbersAttr dims;
  SmallVector<Cut> cuts, indexCuts;
};
} // namespace

int64_t BlockScatter::windowSize(int64_t dim) {
  if (llvm::is_contained(dims.getInsertedWindowDims(), dim))
    return 1;
  unsigned number = 0;
  for (int64_t before = 0; before < dim; ++before)
    number += !llvm::is_contained(dims.getInsertedWindowDims(), before) &&
              !llvm::is_contained(dims.getInputBatchingDims(), before);
  return Partitioner::globalTypeOf(op.getUpdates()[0])
      .getDimSize(dims.getUpdateWindowDims()[number]);
}

Value BlockScatter::countFromBlock(Value indices) {
  SmallVector<int64_t> low, high;
  for (int64_t dim : dims.getScatterDimsToOperandDims()) {
    // What lies just outside is dropped as what lies far outside.
    low.push_back(-windowSize(dim));
    high.push_back(cuts[dim].size);
  }
  if (low.empty())
    return indices;
  indices = b.clampIndices(indices, low, high, dims.getIndexVectorDim());
  return b.sub(
      indices, b.spreadComponents(
                   offsetsOf(b, cuts, dims.getScatterDimsToOperandDims()),
                   TensorBuilder::shapeOf(indices), dims.getIndexVectorDim()));
}

/// Indices behind the end of a short block address nothing.
Value BlockScatter::dropPadding(Value indices) {
  constexpr int64_t kNowhere = -(int64_t(1) << 30);
  for (auto [dim, cut] : llvm::enumerate(indexCuts))
    if (cut.isUneven() && !isIndexBatching(dim))
      indices =
          p.mask(b.loc, indices, dim, cut, b.splat(kNowhere, indices));
  return indices;
}

/// The input on the first of the ranks that differ on the axes, zero elsewhere.
Value BlockScatter::toFirst(Value input, const Axes &axes) {
  Value isFirst = b.compare(p.blockIndex(b.loc, axes), b.constant(0),
                            ComparisonDirection::EQ);
  return b.choose(isFirst, input, b.zeros(TensorBuilder::typeOf(input)));
}

LogicalResult BlockScatter::build() {
  unsigned count = op.getInputs().size();
  SmallVector<Value> operands = p.locals(op->getOperands());
  Value &indices = operands[count];
  // The axes over which the updates are cut, and whether some are padding.
  Axes joined;
  bool isPadded = false;
  for (auto [dim, cut] : llvm::enumerate(indexCuts))
    if (cut.isCut() && !isIndexBatching(dim)) {
      joined.append(cut.axes);
      isPadded |= cut.isUneven();
    }
  bool isSplit = llvm::any_of(
      dims.getScatterDimsToOperandDims(),
      [&](int64_t dim) { return cuts[dim].isCut(); });
  if (isSplit || isPadded)
    indices = countFromBlock(indices);
  if (isPadded)
    indices = dropPadding(indices);
  if (!joined.empty()) {
    Operation *body = getAppliedOp(op.getUpdateComputation());
    Type element = TensorBuilder::typeOf(operands[0]).getElementType();
    if (body && getMonoidKind(body, element) == ReductionKind::Sum &&
        !isKnownZero(op.getInputs()[0]))
      operands[0] = toFirst(operands[0], joined);
  }
  auto scatter = cast<ScatterOp>(p.copy(op, operands));
  if (isSplit || isPadded)
    scatter.setIndicesAreSorted(false);
  if (isPadded)
    scatter.setUniqueIndices(false);
  p.define(op->getResults(), scatter->getResults());
  return success();
}

static LogicalResult convertScatter(Partitioner &p, ScatterOp op) {
  BlockBuilder b(p, op.getLoc());
  return BlockScatter(b, op).build();
}

void pipemesh::registerGatherScatterHandlers(OpHandlers &handlers) {
  handlers.add<GatherOp, convertGather>();
  handlers.add<ScatterOp, convertScatter>();
}
