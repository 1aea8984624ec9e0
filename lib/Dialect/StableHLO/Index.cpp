// gather and scatter: inference and verification.
#include "AsmDirectives.h"
#include "Dims.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOIndexOps.cpp.inc"

void StableHLODialect::addIndexOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOIndexOps.cpp.inc"
      >();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// What gather and scatter have in common: index vectors in a tensor that
/// address windows of an operand. The names are those of the attribute's fields.
struct IndexMap {
  RankedTensorType operand, indices;
  StringRef windowName, droppedName, batchingName, indicesBatchingName, mapName;
  ArrayRef<int64_t> window, dropped, batching, indicesBatching, map;
  int64_t vectorDim;

  /// Checks everything but the window's own sizes. `other` is the rank of the
  /// tensor that the window's dimensions are of.
  LogicalResult check(std::optional<Location> location, int64_t other) const;
  /// The sizes of the indices without their vector dimension.
  SmallVector<int64_t> batchSizes() const;
  /// The operand's dimensions that a window has.
  SmallVector<int64_t> windowOperandDims() const;
};
} // namespace

LogicalResult IndexMap::check(std::optional<Location> location,
                              int64_t other) const {
  int64_t rank = operand.getRank(), indicesRank = indices.getRank();
  int64_t sum = window.size() + dropped.size() + batching.size();
  if (sum != rank)
    return emitOptionalError(location, windowName, ", ", droppedName, " and ",
                             batchingName, " name ", sum,
                             " dimensions of an operand of rank ", rank);
  if (vectorDim < 0 || vectorDim > indicesRank)
    return emitOptionalError(location, "index_vector_dim ", vectorDim,
                             " of indices of rank ", indicesRank);
  int64_t components =
      vectorDim < indicesRank ? indices.getDimSize(vectorDim) : 1;
  if (static_cast<int64_t>(map.size()) != components)
    return emitOptionalError(location, mapName, " has ", map.size(),
                             " elements for index vectors of size ",
                             components);
  SmallVector<int64_t> absent(dropped), addressed(map);
  llvm::append_range(absent, batching);
  llvm::append_range(addressed, batching);
  std::string absentName = (droppedName + " with " + batchingName).str();
  std::string addressedName = (mapName + " with " + batchingName).str();
  if (failed(checkDims(location, windowName, window, other)) ||
      failed(checkSorted(location, windowName, window)) ||
      failed(checkDims(location, absentName, absent, rank)) ||
      failed(checkSorted(location, droppedName, dropped)) ||
      failed(checkSorted(location, batchingName, batching)) ||
      failed(checkDims(location, addressedName, addressed, rank)) ||
      failed(checkDims(location, indicesBatchingName, indicesBatching,
                       indicesRank)))
    return failure();
  if (llvm::is_contained(indicesBatching, vectorDim))
    return emitOptionalError(location, indicesBatchingName,
                             " names the index vector's dimension ", vectorDim);
  if (batching.size() != indicesBatching.size())
    return emitOptionalError(location, batchingName, " has ", batching.size(),
                             " elements, but ", indicesBatchingName, " has ",
                             indicesBatching.size());
  for (auto [dim, indicesDim] : llvm::zip(batching, indicesBatching))
    if (operand.getDimSize(dim) != indices.getDimSize(indicesDim))
      return emitOptionalError(
          location, "batching dimension ", dim, " of the operand has size ",
          operand.getDimSize(dim), ", but dimension ", indicesDim,
          " of the indices has size ", indices.getDimSize(indicesDim));
  return success();
}

SmallVector<int64_t> IndexMap::batchSizes() const {
  SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < indices.getRank(); ++i)
    if (i != vectorDim)
      sizes.push_back(indices.getDimSize(i));
  return sizes;
}

SmallVector<int64_t> IndexMap::windowOperandDims() const {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < operand.getRank(); ++i)
    if (!llvm::is_contained(dropped, i) && !llvm::is_contained(batching, i))
      dims.push_back(i);
  return dims;
}

// ---- gather ----------------------------------------------------------------

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  GatherDimensionNumbersAttr dims = adaptor.getDimensionNumbers();
  IndexMap map{operand,
               tensorType(adaptor.getStartIndices()),
               "offset_dims",
               "collapsed_slice_dims",
               "operand_batching_dims",
               "start_indices_batching_dims",
               "start_index_map",
               dims.getOffsetDims(),
               dims.getCollapsedSliceDims(),
               dims.getOperandBatchingDims(),
               dims.getStartIndicesBatchingDims(),
               dims.getStartIndexMap(),
               dims.getIndexVectorDim()};
  SmallVector<int64_t> batch = map.batchSizes();
  int64_t rank = batch.size() + map.window.size();
  ArrayRef<int64_t> sizes = adaptor.getSliceSizes();
  if (failed(map.check(location, rank)) ||
      failed(checkCount(location, "slice_sizes", sizes, operand.getRank())))
    return failure();
  for (auto [i, size] : llvm::enumerate(sizes))
    if (size < 0 || size > operand.getDimSize(i))
      return emitOptionalError(location, "slice size ", size,
                               " does not lie in dimension ", i, " of size ",
                               operand.getDimSize(i));
  for (ArrayRef<int64_t> absent : {map.dropped, map.batching})
    for (int64_t dim : absent)
      if (sizes[dim] > 1)
        return emitOptionalError(location, "slice size ", sizes[dim],
                                 " of dimension ", dim,
                                 ", which the slice lacks, is above 1");
  SmallVector<int64_t> windowDims = map.windowOperandDims(), shape;
  size_t nextBatch = 0, nextWindow = 0;
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(llvm::is_contained(map.window, i)
                        ? sizes[windowDims[nextWindow++]]
                        : batch[nextBatch++]);
  types.push_back(operand.clone(shape));
  return success();
}

// ---- scatter ---------------------------------------------------------------

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  size_t operands = adaptor.getOperands().size();
  if (operands < 3 || operands % 2 != 1)
    return emitOptionalError(location,
                             "expected inputs, indices and as many updates as "
                             "inputs, got ",
                             operands, " operands");
  RankedTensorType input = tensorType(adaptor.getInputs().front());
  RankedTensorType update = tensorType(adaptor.getUpdates().front());
  for (auto [i, in, up] :
       llvm::enumerate(adaptor.getInputs(), adaptor.getUpdates())) {
    RankedTensorType inType = tensorType(in), upType = tensorType(up);
    if (inType.getShape() != input.getShape() ||
        upType.getShape() != update.getShape())
      return emitOptionalError(location, "input ", i, " or update ", i,
                               " has another shape than the first");
    if (inType.getElementType() != upType.getElementType())
      return emitOptionalError(location, "input ", i, " of type ", inType,
                               " is updated with elements of type ",
                               upType.getElementType());
  }
  ScatterDimensionNumbersAttr dims = adaptor.getScatterDimensionNumbers();
  IndexMap map{input,
               tensorType(adaptor.getScatterIndices()),
               "update_window_dims",
               "inserted_window_dims",
               "input_batching_dims",
               "scatter_indices_batching_dims",
               "scatter_dims_to_operand_dims",
               dims.getUpdateWindowDims(),
               dims.getInsertedWindowDims(),
               dims.getInputBatchingDims(),
               dims.getScatterIndicesBatchingDims(),
               dims.getScatterDimsToOperandDims(),
               dims.getIndexVectorDim()};
  if (failed(map.check(location, update.getRank())))
    return failure();
  SmallVector<int64_t> batch = map.batchSizes();
  SmallVector<int64_t> windowDims = map.windowOperandDims();
  int64_t rank = batch.size() + windowDims.size();
  if (update.getRank() != rank)
    return emitOptionalError(location, "updates of type ", update,
                             " have rank ", update.getRank(), ", expected ",
                             rank);
  size_t nextBatch = 0, nextWindow = 0;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = update.getDimSize(i);
    if (llvm::is_contained(map.window, i)) {
      int64_t dim = windowDims[nextWindow++];
      if (size > input.getDimSize(dim))
        return emitOptionalError(location, "dimension ", i,
                                 " of the updates has size ", size,
                                 ", above the size ", input.getDimSize(dim),
                                 " of dimension ", dim, " of the input");
      continue;
    }
    int64_t expected = batch[nextBatch++];
    if (size != expected)
      return emitOptionalError(location, "dimension ", i,
                               " of the updates has size ", size,
                               ", but the indices have ", expected, " there");
  }
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

bool ScatterOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return arePromotable(inferred, actual);
}

LogicalResult ScatterOp::verifyRegions() {
  SmallVector<Type> scalars;
  for (Type type : getResultTypes())
    scalars.push_back(RankedTensorType::get(
        {}, cast<RankedTensorType>(type).getElementType()));
  SmallVector<Type> arguments(scalars);
  llvm::append_range(arguments, scalars);
  return checkRegion(*this, "the update computation", getUpdateComputation(),
                     arguments, scalars);
}
