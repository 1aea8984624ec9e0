// reduce_window and convolution: inference and verification.
#include "AsmDirectives.h"
#include "Dims.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOWindowOps.cpp.inc"

void StableHLODialect::addWindowOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOWindowOps.cpp.inc"
      >();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType scalarOf(Type tensor) {
  return RankedTensorType::get({},
                               cast<RankedTensorType>(tensor).getElementType());
}

/// Refuses a list, where there is one, that has another length than `count` or
/// an element below 1.
static LogicalResult checkPositive(std::optional<Location> location,
                                   StringRef name,
                                   std::optional<ArrayRef<int64_t>> list,
                                   int64_t count) {
  if (!list)
    return success();
  if (failed(checkCount(location, name, *list, count)))
    return failure();
  for (int64_t value : *list)
    if (value < 1)
      return emitOptionalError(location, name, " has an element of ", value,
                               ", but needs positive ones");
  return success();
}

static LogicalResult checkPadding(std::optional<Location> location,
                                  std::optional<DenseIntElementsAttr> padding,
                                  int64_t count) {
  if (!padding ||
      padding->getType().getShape() == ArrayRef<int64_t>({count, 2}))
    return success();
  return emitOptionalError(location, "padding of type ", padding->getType(),
                           " is not two numbers for each of ", count,
                           " dimensions");
}

static int64_t valueOr(std::optional<ArrayRef<int64_t>> list, int64_t i,
                       int64_t absent) {
  return list ? (*list)[i] : absent;
}

static int64_t paddingAt(std::optional<DenseIntElementsAttr> padding,
                         int64_t i, int64_t side) {
  return padding ? padding->getValues<int64_t>()[2 * i + side] : 0;
}

/// How often a window fits. Sizes that overflow count as none.
static int64_t countWindows(int64_t size, int64_t low, int64_t high,
                            int64_t baseDilation, int64_t window,
                            int64_t dilation, int64_t stride) {
  int64_t spread, padded, span;
  if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), baseDilation, spread) ||
      llvm::AddOverflow(spread, size > 0 ? low + 1 : low, padded) ||
      llvm::AddOverflow(padded, high, padded) ||
      llvm::MulOverflow(window - 1, dilation, span) ||
      llvm::AddOverflow(span, int64_t(1), span))
    return 0;
  return padded < span ? 0 : (padded - span) / stride + 1;
}

// ---- reduce_window ---------------------------------------------------------

LogicalResult
ReduceWindowOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "nothing to reduce");
  RankedTensorType first = tensorType(adaptor.getInputs().front());
  int64_t rank = first.getRank();
  ArrayRef<int64_t> window = adaptor.getWindowDimensions();
  if (failed(checkPositive(location, "window_dimensions", window, rank)) ||
      failed(checkPositive(location, "window_strides",
                           adaptor.getWindowStrides(), rank)) ||
      failed(checkPositive(location, "base_dilations",
                           adaptor.getBaseDilations(), rank)) ||
      failed(checkPositive(location, "window_dilations",
                           adaptor.getWindowDilations(), rank)) ||
      failed(checkPadding(location, adaptor.getPadding(), rank)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(countWindows(
        first.getDimSize(i), paddingAt(adaptor.getPadding(), i, 0),
        paddingAt(adaptor.getPadding(), i, 1),
        valueOr(adaptor.getBaseDilations(), i, 1), window[i],
        valueOr(adaptor.getWindowDilations(), i, 1),
        valueOr(adaptor.getWindowStrides(), i, 1)));
  for (auto [i, input, init] :
       llvm::enumerate(adaptor.getInputs(), adaptor.getInitValues())) {
    RankedTensorType type = tensorType(input);
    if (type.getShape() != first.getShape())
      return emitOptionalError(location, "input ", i, " of type ", type,
                               " has another shape than the first, of type ",
                               first);
    if (init.getType() != scalarOf(type))
      return emitOptionalError(location, "initial value ", i, " of type ",
                               init.getType(), " is not a rank-0 tensor of ",
                               type.getElementType());
    types.push_back(type.clone(shape));
  }
  return success();
}

bool ReduceWindowOp::isCompatibleReturnTypes(TypeRange inferred,
                                             TypeRange actual) {
  return arePromotable(inferred, actual);
}

LogicalResult ReduceWindowOp::verifyRegions() {
  SmallVector<Type> scalars;
  for (Type type : getResultTypes())
    scalars.push_back(scalarOf(type));
  SmallVector<Type> arguments(scalars);
  llvm::append_range(arguments, scalars);
  return checkRegion(*this, "the body", getBody(), arguments, scalars);
}

SmallVector<ReduceWindowOp::Window> ReduceWindowOp::getWindows() {
  SmallVector<Window> windows;
  for (auto [i, size] : llvm::enumerate(getWindowDimensions()))
    windows.push_back({size, valueOr(getWindowStrides(), i, 1),
                       valueOr(getBaseDilations(), i, 1),
                       valueOr(getWindowDilations(), i, 1),
                       paddingAt(getPadding(), i, 0),
                       paddingAt(getPadding(), i, 1)});
  return windows;
}

// ---- convolution -----------------------------------------------------------

/// Refuses dimension numbers that do not name each dimension of `type` once.
static LogicalResult checkRoles(std::optional<Location> location,
                                StringRef name, RankedTensorType type,
                                int64_t first, int64_t second,
                                ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> dims{first, second};
  llvm::append_range(dims, spatial);
  if (int64_t(dims.size()) != type.getRank())
    return emitOptionalError(location, "dim_numbers name ", dims.size(),
                             " dimensions of the ", name, " of type ", type);
  return checkDims(location, ("dim_numbers of the " + name).str(), dims,
                   type.getRank());
}

LogicalResult
ConvolutionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  ConvDimensionNumbersAttr dims = adaptor.getDimensionNumbers();
  ArrayRef<int64_t> inputSpatial = dims.getInputSpatialDimensions();
  ArrayRef<int64_t> kernelSpatial = dims.getKernelSpatialDimensions();
  ArrayRef<int64_t> outputSpatial = dims.getOutputSpatialDimensions();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(location, "operands have element types ",
                             lhs.getElementType(), " and ",
                             rhs.getElementType());
  if (failed(checkRoles(location, "input", lhs, dims.getInputBatchDimension(),
                        dims.getInputFeatureDimension(), inputSpatial)) ||
      failed(checkRoles(location, "kernel", rhs,
                        dims.getKernelInputFeatureDimension(),
                        dims.getKernelOutputFeatureDimension(), kernelSpatial)))
    return failure();
  int64_t count = inputSpatial.size();
  if (int64_t(kernelSpatial.size()) != count ||
      int64_t(outputSpatial.size()) != count)
    return emitOptionalError(location, "the input has ", count,
                             " spatial dimensions, the kernel ",
                             kernelSpatial.size(), " and the result ",
                             outputSpatial.size());
  if (failed(checkPositive(location, "stride", adaptor.getWindowStrides(),
                           count)) ||
      failed(checkPositive(location, "lhs_dilate", adaptor.getLhsDilation(),
                           count)) ||
      failed(checkPositive(location, "rhs_dilate", adaptor.getRhsDilation(),
                           count)) ||
      failed(checkPadding(location, adaptor.getPadding(), count)))
    return failure();
  if (adaptor.getWindowReversal() &&
      int64_t(adaptor.getWindowReversal()->size()) != count)
    return emitOptionalError(location, "reverse has ",
                             adaptor.getWindowReversal()->size(),
                             " elements, but ", count, " are needed");

  int64_t features = lhs.getDimSize(dims.getInputFeatureDimension());
  int64_t batch = lhs.getDimSize(dims.getInputBatchDimension());
  int64_t kernelIn = rhs.getDimSize(dims.getKernelInputFeatureDimension());
  int64_t kernelOut = rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  int64_t featureGroups = adaptor.getFeatureGroupCount();
  int64_t batchGroups = adaptor.getBatchGroupCount();
  if (featureGroups < 1 || batchGroups < 1 ||
      (featureGroups > 1 && batchGroups > 1))
    return emitOptionalError(
        location, "feature_group_count ", featureGroups,
        " and batch_group_count ", batchGroups,
        " are not positive numbers of which one is 1");
  if (features % featureGroups != 0 || features / featureGroups != kernelIn)
    return emitOptionalError(location, features, " features in ", featureGroups,
                             " groups do not meet ", kernelIn,
                             " input features of the kernel");
  if (kernelOut % featureGroups != 0 || kernelOut % batchGroups != 0 ||
      batch % batchGroups != 0)
    return emitOptionalError(location, "the groups do not divide ", kernelOut,
                             " output features or a batch of ", batch);

  SmallVector<int64_t> shape(lhs.getRank(), 0), outputDims(outputSpatial);
  outputDims.push_back(dims.getOutputBatchDimension());
  outputDims.push_back(dims.getOutputFeatureDimension());
  if (failed(checkDims(location, "dim_numbers of the result", outputDims,
                       lhs.getRank())))
    return failure();
  shape[dims.getOutputBatchDimension()] = batch / batchGroups;
  shape[dims.getOutputFeatureDimension()] = kernelOut;
  for (int64_t i = 0; i < count; ++i)
    shape[outputSpatial[i]] = countWindows(
        lhs.getDimSize(inputSpatial[i]), paddingAt(adaptor.getPadding(), i, 0),
        paddingAt(adaptor.getPadding(), i, 1),
        valueOr(adaptor.getLhsDilation(), i, 1),
        rhs.getDimSize(kernelSpatial[i]),
        valueOr(adaptor.getRhsDilation(), i, 1),
        valueOr(adaptor.getWindowStrides(), i, 1));
  types.push_back(lhs.clone(shape));
  return success();
}

bool ConvolutionOp::isCompatibleReturnTypes(TypeRange inferred,
                                            TypeRange actual) {
  return arePromotable(inferred, actual);
}

LogicalResult ConvolutionOp::verify() {
  if (ArrayAttr precision = getPrecisionConfigAttr())
    if (precision.size() != 2)
      return emitOpError() << "has " << precision.size()
                           << " precisions for its 2 operands";
  return success();
}

SmallVector<ConvolutionOp::Window> ConvolutionOp::getWindows() {
  SmallVector<Window> windows;
  auto dims = getDimensionNumbers().getKernelSpatialDimensions();
  for (auto [i, dim] : llvm::enumerate(dims))
    windows.push_back(
        {cast<RankedTensorType>(getRhs().getType()).getDimSize(dim),
         valueOr(getWindowStrides(), i, 1), valueOr(getLhsDilation(), i, 1),
         valueOr(getRhsDilation(), i, 1), paddingAt(getPadding(), i, 0),
         paddingAt(getPadding(), i, 1),
         getWindowReversal() && (*getWindowReversal())[i]});
  return windows;
}
