//===- IndexRules.cpp - sharding rules of gather and scatter --------------===//

#include "Monoids.h"
#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// The dimensions of the indices but the index vector, in order: dimensions of
/// the result (of the updates) outside of windows. `vectorDim` may be behind the
/// last one.
static SmallVector<int64_t> indexBatchDims(int64_t rank, int64_t vectorDim) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != vectorDim)
      dims.push_back(dim);
  return dims;
}

static SmallVector<int64_t> dimsBut(int64_t rank, ArrayRef<int64_t> others) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(others, dim))
      dims.push_back(dim);
  return dims;
}

/// The index in `list`, or -1.
static int64_t positionOf(ArrayRef<int64_t> list, int64_t dim) {
  const int64_t *found = llvm::find(list, dim);
  return found == list.end() ? -1 : found - list.begin();
}

static void wholeIndexVector(RuleBuilder &builder, unsigned operand,
                             ArrayRef<int64_t> shape, int64_t vectorDim) {
  if (vectorDim < static_cast<int64_t>(shape.size()))
    builder.operand(operand, vectorDim,
                    builder.replicated(shape[vectorDim],
                                       "an index is one vector of it"));
}

/// gather: dimensions that are taken whole go through, and those of the indices
/// go to the result. Along an indexed dimension a rank gives what it has, and
/// zero for the rest: summed. Linear in the operand.
static ShardingRule gather(GatherOp op) {
  RuleBuilder builder(op);
  GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  ArrayRef<int64_t> operandShape = shapeOf(op.getOperand());
  ArrayRef<int64_t> indexShape = shapeOf(op.getStartIndices());
  ArrayRef<int64_t> sizes = op.getSliceSizes();

  wholeIndexVector(builder, 1, indexShape, dims.getIndexVectorDim());
  SmallVector<int64_t> indexFactor(indexShape.size(), -1);
  for (auto [dim, resultDim] :
       llvm::zip(indexBatchDims(indexShape.size(), dims.getIndexVectorDim()),
                 dimsBut(rankOf(op.getResult()), dims.getOffsetDims()))) {
    int64_t factor = indexFactor[dim] = builder.parallel(indexShape[dim]);
    builder.operand(1, dim, factor).result(0, resultDim, factor);
  }
  unsigned offset = 0;
  for (auto [dim, size] : llvm::enumerate(operandShape)) {
    int64_t batch = positionOf(dims.getOperandBatchingDims(), dim);
    if (batch >= 0) {
      builder.operand(0, dim,
                      indexFactor[dims.getStartIndicesBatchingDims()[batch]]);
      continue;
    }
    bool isCollapsed = llvm::is_contained(dims.getCollapsedSliceDims(), dim);
    int64_t resultDim = isCollapsed ? -1 : dims.getOffsetDims()[offset++];
    if (!isCollapsed && sizes[dim] == size) {
      int64_t factor = builder.parallel(size);
      builder.operand(0, dim, factor).result(0, resultDim, factor);
      continue;
    }
    bool isIndexed = llvm::is_contained(dims.getStartIndexMap(), dim);
    builder.operand(
        0, dim,
        isIndexed ? builder.reduction(size, foundKind(op.getResult()))
                  : builder.replicated(size, "a window at its start is read"));
    if (!isCollapsed)
      builder.result(
          0, resultDim,
          builder.replicated(sizes[dim], "it is a window of a dimension"));
  }
  builder.linear({0});
  return builder.take();
}

/// How updates that different ranks hold are joined: each rank joins its own
/// into the input (into zeros, for a sum), and the results are joined.
static std::optional<ReductionKind> updatesKind(ScatterOp op) {
  // What lies behind a short block of updates is dropped by its index.
  if (op.getInputs().size() != 1 || op.getScatterDimensionNumbers()
                                        .getScatterDimsToOperandDims()
                                        .empty())
    return std::nullopt;
  Operation *body = getAppliedOp(op.getUpdateComputation());
  if (!body)
    return std::nullopt;
  Type element = elementOf(op.getInputs()[0]);
  std::optional<ReductionKind> kind = getMonoidKind(body, element);
  // What the other ranks need of the updates may be less than the result.
  if (kind && !isSplatConstant(op.getInputs()[0]) &&
      countElements(op.getUpdates()[0]) < countElements(op.getInputs()[0]))
    return std::nullopt;
  return kind;
}

/// scatter: each rank applies the updates that fall into its block of the
/// indexed dimensions. Updates that are cut give a result to be joined.
static ShardingRule scatter(ScatterOp op) {
  RuleBuilder builder(op);
  ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  unsigned count = op.getInputs().size();
  ArrayRef<int64_t> shape = shapeOf(op.getInputs()[0]);
  ArrayRef<int64_t> indexShape = shapeOf(op.getScatterIndices());
  ArrayRef<int64_t> updateShape = shapeOf(op.getUpdates()[0]);
  ArrayRef<int64_t> batching = dims.getScatterIndicesBatchingDims();
  std::optional<ReductionKind> kind = updatesKind(op);

  auto input = [&](unsigned dim, int64_t factor) {
    for (unsigned index = 0; index < count; ++index)
      builder.operand(index, dim, factor).result(index, dim, factor);
  };
  auto update = [&](unsigned dim, int64_t factor) {
    for (unsigned index = 0; index < count; ++index)
      builder.operand(count + 1 + index, dim, factor);
  };
  wholeIndexVector(builder, count, indexShape, dims.getIndexVectorDim());
  SmallVector<int64_t> indexFactor(indexShape.size(), -1);
  for (auto [dim, updateDim] :
       llvm::zip(indexBatchDims(indexShape.size(), dims.getIndexVectorDim()),
                 dimsBut(updateShape.size(), dims.getUpdateWindowDims()))) {
    int64_t size = indexShape[dim];
    int64_t factor = indexFactor[dim] =
        llvm::is_contained(batching, dim) ? builder.parallel(size)
        : kind                            ? builder.reduction(size, *kind)
               : builder.replicated(size, "updates of one element are joined "
                                          "in their order, or are fewer than "
                                          "what they are joined into");
    builder.operand(count, dim, factor);
    update(updateDim, factor);
  }
  unsigned window = 0;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t batch = positionOf(dims.getInputBatchingDims(), dim);
    if (batch >= 0) {
      input(dim, indexFactor[batching[batch]]);
      continue;
    }
    bool isIndexed =
        llvm::is_contained(dims.getScatterDimsToOperandDims(), dim);
    bool isInserted = llvm::is_contained(dims.getInsertedWindowDims(), dim);
    int64_t updateDim = isInserted ? -1 : dims.getUpdateWindowDims()[window++];
    if (!isIndexed && (isInserted || updateShape[updateDim] != size)) {
      constexpr const char *reason = "a window at its start is written";
      input(dim, builder.replicated(size, reason));
      if (!isInserted)
        update(updateDim, builder.replicated(updateShape[updateDim], reason));
      continue;
    }
    // A window may lie across blocks, and be larger than one.
    bool isWindow = isIndexed && !isInserted && updateShape[updateDim] != 1;
    int64_t factor =
        isWindow ? builder.replicated(size, "windows of it are written")
                 : builder.parallel(size);
    input(dim, factor);
    if (!isInserted)
      update(updateDim, !isIndexed
                            ? factor
                            : builder.replicated(updateShape[updateDim],
                                                 "it is a window of a "
                                                 "dimension"));
  }
  if (Operation *body = getAppliedOp(op.getUpdateComputation()))
    if (count == 1 && isa<AddOp>(body) &&
        getMonoidKind(body, elementOf(op.getInputs()[0])) == ReductionKind::Sum)
      builder.linear({0, 2});
  return builder.take();
}

void pipemesh::attachIndexRules(MLIRContext *context) {
  attachRule<GatherOp, gather>(context);
  attachRule<ScatterOp, scatter>(context);
}
