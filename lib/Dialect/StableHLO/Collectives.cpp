// Exchanges between devices: verification.
#include "Dims.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOCollectiveOps.cpp.inc"

void StableHLODialect::addCollectiveOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOCollectiveOps.cpp.inc"
      >();
}

/// A device is in one group; -1 fills up short rows.
static LogicalResult checkGroups(Operation *op, DenseIntElementsAttr groups) {
  llvm::SmallSet<int64_t, 16> seen;
  for (int64_t id : groups.getValues<int64_t>())
    if (id < -1 || (id >= 0 && !seen.insert(id).second))
      return op->emitOpError()
             << "has the device " << id
             << (id < 0 ? " in its groups" : " twice in its groups");
  return success();
}

/// A body that joins two elements of each operand.
static LogicalResult checkComputation(Operation *op, Region &region) {
  // One pair for all operands, which have one element type.
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  for (Type other : op->getOperandTypes())
    if (cast<RankedTensorType>(other).getElementType() != type.getElementType())
      return op->emitOpError() << "joins " << type << " and " << other
                               << " by one body";
  auto scalar = RankedTensorType::get({}, type.getElementType());
  return checkRegion(op, "the body", region, {scalar, scalar},
                     TypeRange(scalar));
}

/// The result is the operand, with the size `resultSize` of dimension `dim`.
static LogicalResult checkResized(Operation *op, Type operand, Type result,
                                  ArrayRef<std::pair<int64_t, int64_t>> sizes) {
  auto type = cast<RankedTensorType>(operand);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : sizes)
    shape[dim] = size;
  if (result != type.clone(shape))
    return op->emitOpError() << "turns " << operand << " into " << result
                             << ", expected " << type.clone(shape);
  return success();
}

static LogicalResult checkDim(Operation *op, StringRef name, int64_t dim,
                              Type type) {
  if (dim < 0 || dim >= cast<RankedTensorType>(type).getRank())
    return op->emitOpError() << "has " << name << " " << dim
                             << ", which is not a dimension of " << type;
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError() << "has no operand";
  if (getOperandTypes() != getResultTypes())
    return emitOpError() << "has results of other types than its operands";
  return checkGroups(*this, getReplicaGroups());
}

LogicalResult AllReduceOp::verifyRegions() {
  return checkComputation(*this, getComputation());
}

LogicalResult AllGatherOp::verify() {
  if (getNumOperands() == 0 || getNumOperands() != getNumResults())
    return emitOpError() << "has " << getNumOperands() << " operands and "
                         << getNumResults() << " results";
  int64_t members = getReplicaGroups().getType().getDimSize(1);
  int64_t dim = getAllGatherDim();
  for (auto [operand, result] : llvm::zip(getOperandTypes(), getResultTypes()))
    if (failed(checkDim(*this, "all_gather_dim", dim, operand)) ||
        failed(checkResized(
            *this, operand, result,
            {{dim, cast<RankedTensorType>(operand).getDimSize(dim) * members}})))
      return failure();
  return checkGroups(*this, getReplicaGroups());
}

LogicalResult ReduceScatterOp::verify() {
  int64_t members = getReplicaGroups().getType().getDimSize(1);
  int64_t dim = getScatterDimension();
  RankedTensorType type = getOperand().getType();
  if (failed(checkDim(*this, "scatter_dimension", dim, type)))
    return failure();
  int64_t size = type.getDimSize(dim);
  if (members == 0 || size % members != 0)
    return emitOpError() << "cannot cut dimension " << dim << " of " << type
                         << " for the " << members << " devices of a group";
  if (failed(checkResized(*this, type, getType(), {{dim, size / members}})))
    return failure();
  return checkGroups(*this, getReplicaGroups());
}

LogicalResult ReduceScatterOp::verifyRegions() {
  return checkComputation(*this, getComputation());
}

LogicalResult AllToAllOp::verify() {
  if (getNumOperands() == 0 || getNumOperands() != getNumResults())
    return emitOpError() << "has " << getNumOperands() << " operands and "
                         << getNumResults() << " results";
  int64_t members = getReplicaGroups().getType().getDimSize(1);
  int64_t split = getSplitDimension(), concat = getConcatDimension();
  if (members == 0 || members != int64_t(getSplitCount()))
    return emitOpError() << "cuts its operands into " << getSplitCount()
                         << " parts for the " << members
                         << " devices of a group";
  for (auto [operand, result] :
       llvm::zip(getOperandTypes(), getResultTypes())) {
    if (failed(checkDim(*this, "split_dimension", split, operand)) ||
        failed(checkDim(*this, "concat_dimension", concat, operand)))
      return failure();
    auto type = cast<RankedTensorType>(operand);
    if (type.getDimSize(split) % members != 0)
      return emitOpError() << "cannot cut dimension " << split << " of " << type
                           << " for the " << members << " devices of a group";
    SmallVector<std::pair<int64_t, int64_t>> sizes;
    if (split != concat)
      sizes = {{split, type.getDimSize(split) / members},
               {concat, type.getDimSize(concat) * members}};
    if (failed(checkResized(*this, operand, result, sizes)))
      return failure();
  }
  return checkGroups(*this, getReplicaGroups());
}

LogicalResult CollectivePermuteOp::verify() {
  DenseIntElementsAttr pairs = getSourceTargetPairs();
  if (!pairs.empty() && pairs.getType().getDimSize(1) != 2)
    return emitOpError() << "has source_target_pairs of type "
                         << pairs.getType() << ", expected pairs";
  llvm::SmallSet<int64_t, 16> sources, targets;
  for (auto [number, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    if (id < 0)
      return emitOpError() << "has the device " << id << " in its pairs";
    if (!(number % 2 == 0 ? sources : targets).insert(id).second)
      return emitOpError() << "has the device " << id << " twice as a "
                           << (number % 2 == 0 ? "source" : "target");
  }
  return success();
}
