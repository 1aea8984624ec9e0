// Ops that make or move elements: inference, verification and folds.
#include "AsmDirectives.h"
#include "Dims.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOShapeOps.cpp.inc"

void StableHLODialect::addShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOShapeOps.cpp.inc"
      >();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isIdentity(ArrayRef<int64_t> dims) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (static_cast<int64_t>(i) != dim)
      return false;
  return true;
}

// ---- constant, iota --------------------------------------------------------

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getShapedType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(),
          isa<FloatType>(getType().getElementType()) ? "cst" : "c");
}

LogicalResult IotaOp::verify() {
  int64_t rank = getType().getRank(), dim = getIotaDimension();
  if (dim < 0 || dim >= rank)
    return emitOpError() << "counts along dimension " << dim
                         << " of a result of rank " << rank;
  return success();
}

// ---- broadcast_in_dim, reshape, bitcast_convert ----------------------------

LogicalResult BroadcastInDimOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "changes the element type from "
                         << from.getElementType() << " to "
                         << to.getElementType();
  if (failed(checkCount(getLoc(), "'stablehlo.broadcast_in_dim' op dims", dims,
                        from.getRank())) ||
      failed(checkDims(getLoc(), "'stablehlo.broadcast_in_dim' op dims", dims,
                       to.getRank())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t size = from.getDimSize(i);
    if (size != 1 && size != to.getDimSize(dim))
      return emitOpError() << "dimension " << i << " of the operand has size "
                           << size << ", but dimension " << dim
                           << " of the result has size " << to.getDimSize(dim);
  }
  return success();
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType() &&
      isIdentity(getBroadcastDimensions()))
    return getOperand();
  return {};
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value operand,
                      ArrayRef<int64_t> shape) {
  build(builder, state, tensorType(operand).clone(shape), operand);
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "changes the element type from "
                         << from.getElementType() << " to "
                         << to.getElementType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "makes " << to.getNumElements()
                         << " elements out of " << from.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // A chain of reshapes is its last one.
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getOperand());
    return getResult();
  }
  return {};
}

static int64_t bitWidth(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return element.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  int64_t fromBits = bitWidth(from.getElementType());
  int64_t toBits = bitWidth(to.getElementType());
  if (isa<ComplexType>(from.getElementType()) !=
      isa<ComplexType>(to.getElementType()))
    return emitOpError() << "goes between complex and real elements";
  if (fromBits == 0 || toBits == 0)
    return emitOpError() << "has elements without bits";
  RankedTensorType wide = fromBits >= toBits ? from : to;
  RankedTensorType narrow = fromBits >= toBits ? to : from;
  SmallVector<int64_t> expected(wide.getShape());
  if (fromBits != toBits) {
    int64_t most = std::max(fromBits, toBits);
    int64_t least = std::min(fromBits, toBits);
    if (most % least != 0)
      return emitOpError() << "element types of " << fromBits << " and "
                           << toBits << " bits do not divide each other";
    expected.push_back(most / least);
  }
  if (narrow.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "expected "
                         << (wide == from ? "a result" : "an operand")
                         << " of type "
                         << RankedTensorType::get(expected,
                                                  narrow.getElementType())
                         << ", got " << narrow;
  return success();
}

// ---- transpose, reverse, concatenate ---------------------------------------

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (failed(checkCount(location, "permutation", permutation,
                        operand.getRank())) ||
      failed(
          checkDims(location, "permutation", permutation, operand.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(operand.getDimSize(dim));
  types.push_back(operand.clone(shape));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return isIdentity(getPermutation()) ? getOperand() : OpFoldResult();
}

LogicalResult ReverseOp::verify() {
  return checkDims(getLoc(), "'stablehlo.reverse' op dims", getDimensions(),
                   getType().getRank());
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "nothing to concatenate");
  RankedTensorType first = tensorType(adaptor.getInputs().front());
  int64_t dim = adaptor.getDimension();
  if (dim < 0 || dim >= first.getRank())
    return emitOptionalError(location, "concatenates along dimension ", dim,
                             " of tensors of rank ", first.getRank());
  SmallVector<int64_t> shape(first.getShape());
  for (auto [i, input] : llvm::enumerate(adaptor.getInputs().drop_front())) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[dim] = type.getDimSize(dim);
    if (type.getElementType() != first.getElementType() ||
        type.getShape() != ArrayRef<int64_t>(expected))
      return emitOptionalError(location, "operand ", i + 1, " of type ", type,
                               " differs from the first one's type ", first,
                               " not only in dimension ", dim);
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(first.clone(shape));
  return success();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs().front())
                                 : OpFoldResult();
}

// ---- pad, slice ------------------------------------------------------------

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  RankedTensorType value = tensorType(adaptor.getPaddingValue());
  if (value != RankedTensorType::get({}, operand.getElementType()))
    return emitOptionalError(location, "the padding value of type ", value,
                             " is not a rank-0 tensor of ",
                             operand.getElementType());
  ArrayRef<int64_t> low = adaptor.getEdgePaddingLow();
  ArrayRef<int64_t> high = adaptor.getEdgePaddingHigh();
  ArrayRef<int64_t> interior = adaptor.getInteriorPadding();
  int64_t rank = operand.getRank();
  if (failed(checkCount(location, "low", low, rank)) ||
      failed(checkCount(location, "high", high, rank)) ||
      failed(checkCount(location, "interior", interior, rank)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = operand.getDimSize(i), between = 0, inner, edges, total;
    if (interior[i] < 0)
      return emitOptionalError(location, "interior padding ", interior[i],
                               " of dimension ", i, " is negative");
    if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), interior[i],
                          between) ||
        llvm::AddOverflow(size, between, inner) ||
        llvm::AddOverflow(low[i], high[i], edges) ||
        llvm::AddOverflow(inner, edges, total))
      return emitOptionalError(location, "the padded size of dimension ", i,
                               " exceeds 64 bits");
    if (total < 0)
      return emitOptionalError(location, "dimension ", i, " of size ", size,
                               " would have size ", total, " after padding");
    shape.push_back(total);
  }
  types.push_back(operand.clone(shape));
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> starts = adaptor.getStartIndices();
  ArrayRef<int64_t> limits = adaptor.getLimitIndices();
  ArrayRef<int64_t> strides = adaptor.getStrides();
  int64_t rank = operand.getRank();
  if (failed(checkCount(location, "start_indices", starts, rank)) ||
      failed(checkCount(location, "limit_indices", limits, rank)) ||
      failed(checkCount(location, "strides", strides, rank)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = operand.getDimSize(i);
    if (starts[i] < 0 || starts[i] > limits[i] || limits[i] > size)
      return emitOptionalError(location, "range ", starts[i], ":", limits[i],
                               " does not lie in dimension ", i, " of size ",
                               size);
    if (strides[i] < 1)
      return emitOptionalError(location, "stride ", strides[i],
                               " of dimension ", i, " is not positive");
    int64_t length = limits[i] - starts[i];
    shape.push_back(length / strides[i] + (length % strides[i] != 0));
  }
  types.push_back(operand.clone(shape));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : OpFoldResult();
}

/// Refuses start indices that are not one for each dimension, or differ in
/// type.
static LogicalResult checkStarts(std::optional<Location> location,
                                 ValueRange starts, int64_t rank) {
  if (static_cast<int64_t>(starts.size()) != rank)
    return emitOptionalError(location, starts.size(),
                             " start indices for a tensor of rank ", rank);
  for (Value start : starts)
    if (start.getType() != starts.front().getType())
      return emitOptionalError(location, "start indices of types ",
                               starts.front().getType(), " and ",
                               start.getType());
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> location,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  if (failed(checkStarts(location, adaptor.getStartIndices(),
                         operand.getRank())) ||
      failed(checkCount(location, "sizes", sizes, operand.getRank())))
    return failure();
  for (auto [i, size] : llvm::enumerate(sizes))
    if (size < 0 || size > operand.getDimSize(i))
      return emitOptionalError(location, "size ", size,
                               " does not lie in dimension ", i, " of size ",
                               operand.getDimSize(i));
  types.push_back(operand.clone(sizes));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  RankedTensorType update = tensorType(adaptor.getUpdate());
  if (failed(
          checkStarts(location, adaptor.getStartIndices(), operand.getRank())))
    return failure();
  if (update.getElementType() != operand.getElementType() ||
      update.getRank() != operand.getRank())
    return emitOptionalError(location, "an update of type ", update,
                             " for an operand of type ", operand);
  for (int64_t i = 0; i < operand.getRank(); ++i)
    if (update.getDimSize(i) > operand.getDimSize(i))
      return emitOptionalError(location, "dimension ", i,
                               " of the update has size ", update.getDimSize(i),
                               ", that of the operand ", operand.getDimSize(i));
  types.push_back(operand);
  return success();
}

// ---- optimization_barrier --------------------------------------------------

LogicalResult
OptimizationBarrierOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperand().getTypes());
  return success();
}
