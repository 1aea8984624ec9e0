//===- Index.cpp - evaluation of gather and scatter -----------------------===//

#include "Evaluator.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;

namespace pipemesh::interp {

/// Advances a row-major index; false after the last one.
static bool advance(MutableArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < shape[d])
      return true;
    index[d] = 0;
  }
  return false;
}

/// Index vectors: dimension `vectorDim` of `indices` holds their components.
class IndexVectors {
public:
  IndexVectors(const Tensor &indices, int64_t vectorDim)
      : indices(indices), strides(getStrides(indices.getShape())),
        vectorStride(vectorDim < indices.getRank() ? strides[vectorDim] : 0) {
    for (int64_t d = 0; d < indices.getRank(); ++d)
      if (d != vectorDim) {
        batchDims.push_back(d);
        batchShape.push_back(indices.getShape()[d]);
      }
  }
  ArrayRef<int64_t> getBatchShape() const { return batchShape; }
  int64_t get(ArrayRef<int64_t> batch, int64_t component) const {
    int64_t offset = component * vectorStride;
    for (auto [dim, index] : llvm::zip(batchDims, batch))
      offset += index * strides[dim];
    return indices.asInt(offset);
  }
  /// The position among the batch dimensions of a dimension of the indices.
  int64_t getBatchPosition(int64_t dim) const {
    return llvm::find(batchDims, dim) - batchDims.begin();
  }

private:
  const Tensor &indices;
  SmallVector<int64_t> strides;
  int64_t vectorStride;
  SmallVector<int64_t> batchDims, batchShape;
};

static SmallVector<int64_t> getDimsBut(int64_t rank, ArrayRef<int64_t> a,
                                       ArrayRef<int64_t> b = {}) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(a, d) && !llvm::is_contained(b, d))
      dims.push_back(d);
  return dims;
}

static LogicalResult gather(LocalCall &call) {
  auto op = cast<stablehlo::GatherOp>(call.op);
  auto dims = op.getDimensionNumbers();
  const Tensor &x = call.operands[0];
  IndexVectors starts(call.operands[1], dims.getIndexVectorDim());
  Tensor result(call.getResultType());
  if (result.size() == 0) {
    call.results.push_back(result);
    return success();
  }
  ArrayRef<int64_t> sizes = op.getSliceSizes();
  SmallVector<int64_t> strides = getStrides(x.getShape());
  SmallVector<int64_t> resultStrides = getStrides(result.getShape());

  // A slice: the operand's dimensions that stay, and where they go.
  SmallVector<int64_t> box;
  StridedBox from, to;
  for (auto [offsetDim, dim] : llvm::zip(
           dims.getOffsetDims(),
           getDimsBut(x.getRank(), dims.getCollapsedSliceDims(),
                      dims.getOperandBatchingDims()))) {
    box.push_back(sizes[dim]);
    from.strides.push_back(strides[dim]);
    to.strides.push_back(resultStrides[offsetDim]);
  }
  SmallVector<int64_t> batchDims =
      getDimsBut(result.getRank(), dims.getOffsetDims());

  SmallVector<int64_t> batch(starts.getBatchShape().size(), 0);
  do {
    from.offset = to.offset = 0;
    for (auto [component, dim] : llvm::enumerate(dims.getStartIndexMap()))
      from.offset += strides[dim] *
                     std::clamp<int64_t>(starts.get(batch, component), 0,
                                         x.getShape()[dim] - sizes[dim]);
    for (auto [dim, indexDim] :
         llvm::zip(dims.getOperandBatchingDims(),
                   dims.getStartIndicesBatchingDims()))
      from.offset += strides[dim] * batch[starts.getBatchPosition(indexDim)];
    for (auto [dim, index] : llvm::zip(batchDims, batch))
      to.offset += resultStrides[dim] * index;
    copyBox(box, x, from, result, to);
  } while (advance(batch, starts.getBatchShape()));
  call.results.push_back(result);
  return success();
}

/// How one update element is joined into the input.
enum class Join { Add, Replace, General };

static LogicalResult scatter(LocalCall &call) {
  auto op = cast<stablehlo::ScatterOp>(call.op);
  auto dims = op.getScatterDimensionNumbers();
  size_t count = op.getInputs().size();
  ArrayRef<Tensor> updates = call.operands.drop_front(count + 1);
  IndexVectors starts(call.operands[count], dims.getIndexVectorDim());
  ArrayRef<int64_t> shape = call.operands.front().getShape();
  SmallVector<int64_t> strides = getStrides(shape);
  ArrayRef<int64_t> updateShape = updates.front().getShape();
  SmallVector<int64_t> updateStrides = getStrides(updateShape);

  SmallVector<Tensor> results;
  for (const Tensor &input : call.operands.take_front(count))
    results.push_back(input.clone());
  call.results.append(results.begin(), results.end());
  if (updates.front().size() == 0)
    return success();

  ScalarRegion body(call, op.getUpdateComputation());
  Join join = Join::General;
  if (count == 1 && body.getAppliedName() == "second")
    join = Join::Replace;
  if (count == 1 && body.getAppliedName() == "stablehlo.add" &&
      results[0].isFloat())
    join = Join::Add;

  ArrayRef<int64_t> windowDims = dims.getUpdateWindowDims();
  SmallVector<int64_t> scatterDims = getDimsBut(updateShape.size(), windowDims);
  SmallVector<int64_t> operandDims =
      getDimsBut(shape.size(), dims.getInsertedWindowDims(),
                 dims.getInputBatchingDims());
  SmallVector<int64_t> windowShape;
  for (int64_t dim : windowDims)
    windowShape.push_back(updateShape[dim]);

  SmallVector<int64_t> batch(starts.getBatchShape().size(), 0);
  SmallVector<Tensor> arguments, joined;
  do {
    SmallVector<int64_t> start(shape.size(), 0);
    for (auto [component, dim] :
         llvm::enumerate(dims.getScatterDimsToOperandDims()))
      start[dim] = starts.get(batch, component);
    for (auto [dim, indexDim] : llvm::zip(dims.getInputBatchingDims(),
                                          dims.getScatterIndicesBatchingDims()))
      start[dim] = batch[starts.getBatchPosition(indexDim)];
    int64_t updateStart = 0;
    for (auto [dim, index] : llvm::zip(scatterDims, batch))
      updateStart += updateStrides[dim] * index;

    SmallVector<int64_t> window(windowShape.size(), 0);
    do {
      SmallVector<int64_t> index(start);
      for (auto [dim, position] : llvm::zip(operandDims, window))
        index[dim] += position;
      int64_t to = 0, from = updateStart;
      bool inside = true;
      for (auto [d, position] : llvm::enumerate(index)) {
        inside &= position >= 0 && position < shape[d];
        to += position * strides[d];
      }
      if (!inside)
        continue;
      for (auto [dim, position] : llvm::zip(windowDims, window))
        from += updateStrides[dim] * position;
      if (join == Join::Add) {
        results[0].floats()[to] += updates[0].floats()[from];
        continue;
      }
      if (join == Join::Replace) {
        copyBox({}, updates[0], {from, {}}, results[0], {to, {}});
        continue;
      }
      arguments.clear();
      auto addScalar = [&](const Tensor &x, int64_t offset) {
        Tensor scalar(RankedTensorType::get({}, x.getElementType()));
        copyBox({}, x, {offset, {}}, scalar, {0, {}});
        arguments.push_back(scalar);
      };
      for (const Tensor &result : results)
        addScalar(result, to);
      for (const Tensor &update : updates)
        addScalar(update, from);
      if (failed(body.run(arguments, joined)))
        return failure();
      for (auto [result, value] : llvm::zip(results, joined))
        copyBox({}, value, {0, {}}, result, {to, {}});
    } while (advance(window, windowShape));
  } while (advance(batch, starts.getBatchShape()));
  return success();
}

void registerIndexOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.gather", gather);
  registry.addLocal("stablehlo.scatter", scatter);
}

} // namespace pipemesh::interp
