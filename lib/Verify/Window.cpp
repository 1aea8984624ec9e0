//===- Window.cpp - evaluation of reduce_window and convolution -----------===//

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

/// The element of the input that is at `place` of the spread and padded one; -1
/// when there is none.
static int64_t sourceOf(int64_t place, int64_t low, int64_t dilation,
                        int64_t size) {
  place -= low;
  if (place < 0 || place % dilation != 0)
    return -1;
  return place / dilation < size ? place / dilation : -1;
}

/// Joins the elements at one place of all windows at once, place after place.
static LogicalResult reduceWindow(LocalCall &call) {
  auto op = cast<stablehlo::ReduceWindowOp>(call.op);
  size_t count = op.getInputs().size();
  ArrayRef<Tensor> inputs = call.operands.take_front(count);
  ArrayRef<Tensor> inits = call.operands.drop_front(count);
  ArrayRef<int64_t> shape = inputs.front().getShape();
  SmallVector<int64_t> strides = getStrides(shape);
  auto windows = op.getWindows();
  ScalarRegion body(call, op.getBody());

  SmallVector<Tensor> sums;
  for (size_t i = 0; i < count; ++i) {
    Tensor sum(call.getResultType(i));
    SmallVector<int64_t> zeros(sum.getRank(), 0);
    copyBox(sum.getShape(), inits[i], {0, zeros}, sum,
            {0, getStrides(sum.getShape())});
    sums.push_back(sum);
  }
  ArrayRef<int64_t> outShape = sums.front().getShape();
  int64_t outCount = sums.front().size();
  SmallVector<int64_t> windowShape;
  for (const auto &window : windows)
    windowShape.push_back(window.size);
  SmallVector<int64_t> place(windows.size(), 0);
  SmallVector<Tensor> arguments, joined;
  if (outCount == 0) {
    call.results.append(sums.begin(), sums.end());
    return success();
  }
  std::vector<std::pair<int64_t, int64_t>> pairs; // result, input
  do {
    pairs.clear();
    SmallVector<int64_t> index(outShape.size(), 0);
    int64_t out = 0;
    do {
      int64_t from = 0;
      for (size_t d = 0; d < windows.size() && from >= 0; ++d) {
        const auto &window = windows[d];
        int64_t source =
            sourceOf(index[d] * window.stride + place[d] * window.dilation,
                     window.low, window.baseDilation, shape[d]);
        from = source < 0 ? -1 : from + source * strides[d];
      }
      if (from >= 0)
        pairs.push_back({out, from});
      ++out;
    } while (advance(index, outShape));
    if (pairs.empty())
      continue;
    arguments.clear();
    auto pack = [&](const Tensor &x, bool isSum) {
      Tensor packed(RankedTensorType::get({int64_t(pairs.size())},
                                          x.getElementType()));
      for (auto [i, pair] : llvm::enumerate(pairs))
        copyBox({}, x, {isSum ? pair.first : pair.second, {}}, packed,
                {int64_t(i), {}});
      arguments.push_back(packed);
    };
    for (const Tensor &sum : sums)
      pack(sum, true);
    for (const Tensor &input : inputs)
      pack(input, false);
    if (failed(body.run(arguments, joined)))
      return failure();
    for (auto [sum, value] : llvm::zip(sums, joined))
      for (auto [i, pair] : llvm::enumerate(pairs))
        copyBox({}, value, {int64_t(i), {}}, sum, {pair.first, {}});
  } while (advance(place, windowShape));
  call.results.append(sums.begin(), sums.end());
  return success();
}

static LogicalResult convolution(LocalCall &call) {
  auto op = cast<stablehlo::ConvolutionOp>(call.op);
  const Tensor &x = call.operands[0], &kernel = call.operands[1];
  if (x.isComplex())
    return op.emitError("the interpreter evaluates it on real numbers, not on ")
           << x.getElementType();
  Tensor result(call.getResultType());
  auto dims = op.getDimensionNumbers();
  auto windows = op.getWindows();
  SmallVector<int64_t> xStrides = getStrides(x.getShape());
  SmallVector<int64_t> kernelStrides = getStrides(kernel.getShape());
  ArrayRef<int64_t> inputSpatial = dims.getInputSpatialDimensions();
  ArrayRef<int64_t> kernelSpatial = dims.getKernelSpatialDimensions();
  ArrayRef<int64_t> outputSpatial = dims.getOutputSpatialDimensions();
  int64_t features = kernel.getShape()[dims.getKernelInputFeatureDimension()];
  int64_t outFeatures =
      kernel.getShape()[dims.getKernelOutputFeatureDimension()];
  int64_t batchGroups = op.getBatchGroupCount();
  int64_t outBatch = result.getShape()[dims.getOutputBatchDimension()];
  int64_t perFeatureGroup = outFeatures / op.getFeatureGroupCount();
  int64_t perBatchGroup = outFeatures / batchGroups;
  SmallVector<int64_t> windowShape;
  for (const auto &window : windows)
    windowShape.push_back(window.size);
  IntegerFormat format = IntegerFormat::get(result.getElementType());

  SmallVector<int64_t> index(result.getRank(), 0);
  for (int64_t out = 0, e = result.size(); out < e; ++out) {
    int64_t feature = index[dims.getOutputFeatureDimension()];
    int64_t batch = index[dims.getOutputBatchDimension()];
    if (batchGroups > 1)
      batch += feature / perBatchGroup * outBatch;
    int64_t group = feature / perFeatureGroup;
    double sum = 0;
    int64_t intSum = 0;
    SmallVector<int64_t> place(windows.size(), 0);
    bool empty = ShapedType::getNumElements(windowShape) == 0;
    if (!empty)
      do {
        int64_t from = batch * xStrides[dims.getInputBatchDimension()] +
                       group * features *
                           xStrides[dims.getInputFeatureDimension()];
        int64_t weight =
            feature * kernelStrides[dims.getKernelOutputFeatureDimension()];
        bool inside = true;
        for (size_t d = 0; d < windows.size(); ++d) {
          const auto &window = windows[d];
          int64_t source = sourceOf(
              index[outputSpatial[d]] * window.stride +
                  place[d] * window.dilation,
              window.low, window.inputDilation, x.getShape()[inputSpatial[d]]);
          inside &= source >= 0;
          from += source * xStrides[inputSpatial[d]];
          int64_t at = window.reversed ? window.size - 1 - place[d] : place[d];
          weight += at * kernelStrides[kernelSpatial[d]];
        }
        if (!inside)
          continue;
        for (int64_t f = 0; f < features; ++f) {
          int64_t a =
              from + f * xStrides[dims.getInputFeatureDimension()];
          int64_t b =
              weight + f * kernelStrides[dims.getKernelInputFeatureDimension()];
          if (x.isFloat())
            sum += x.floats()[a] * kernel.floats()[b];
          else
            intSum = int64_t(uint64_t(intSum) +
                             uint64_t(x.asInt(a)) * uint64_t(kernel.asInt(b)));
        }
      } while (advance(place, windowShape));
    if (result.isFloat())
      result.floats()[out] = sum;
    else
      result.ints()[out] = format.wrap(intSum);
    advance(index, result.getShape());
  }
  call.results.push_back(result);
  return success();
}

void registerWindowOps(OpRegistry &registry) {
  registry.addLocal("stablehlo.reduce_window", reduceWindow);
  registry.addLocal("stablehlo.convolution", convolution);
}

} // namespace pipemesh::interp
