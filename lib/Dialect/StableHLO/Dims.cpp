// Checks of dimension lists and regions.
#include "Dims.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;

namespace pipemesh::stablehlo {

LogicalResult checkDims(std::optional<Location> location, StringRef name,
                        ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return emitOptionalError(location, name, " names dimension ", dim,
                               " of a tensor of rank ", rank);
    if (!seen.insert(dim).second)
      return emitOptionalError(location, name, " names dimension ", dim,
                               " twice");
  }
  return success();
}

LogicalResult checkCount(std::optional<Location> location, StringRef name,
                         ArrayRef<int64_t> list, int64_t count) {
  if (static_cast<int64_t>(list.size()) == count)
    return success();
  return emitOptionalError(location, name, " has ", list.size(),
                           " elements, but ", count, " are needed");
}

LogicalResult checkSorted(std::optional<Location> location, StringRef name,
                          ArrayRef<int64_t> dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i - 1] >= dims[i])
      return emitOptionalError(location, name, " does not ascend: ", dims[i],
                               " follows ", dims[i - 1]);
  return success();
}

static bool isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  auto fromComplex = dyn_cast<ComplexType>(from);
  auto toComplex = dyn_cast<ComplexType>(to);
  if (fromComplex && toComplex)
    return isPromotable(fromComplex.getElementType(),
                        toComplex.getElementType());
  bool floats = isa<FloatType>(from) && isa<FloatType>(to);
  bool integers = isa<IntegerType>(from) && isa<IntegerType>(to) &&
                  from.isUnsignedInteger() == to.isUnsignedInteger() &&
                  !from.isInteger(1) && !to.isInteger(1);
  return (floats || integers) &&
         from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

bool arePromotable(TypeRange inferred, TypeRange actual) {
  if (inferred.size() != actual.size())
    return false;
  for (auto [from, to] : llvm::zip(inferred, actual)) {
    auto fromTensor = dyn_cast<RankedTensorType>(from);
    auto toTensor = dyn_cast<RankedTensorType>(to);
    if (!fromTensor || !toTensor ||
        fromTensor.getShape() != toTensor.getShape() ||
        !isPromotable(fromTensor.getElementType(), toTensor.getElementType()))
      return false;
  }
  return true;
}

LogicalResult checkRegion(Operation *op, StringRef name, Region &region,
                          TypeRange arguments, TypeRange results) {
  if (!region.hasOneBlock())
    return op->emitOpError() << name << " is not one block";
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), arguments)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " has arguments of types (";
    llvm::interleaveComma(block.getArgumentTypes(), diag);
    diag << "), expected (";
    llvm::interleaveComma(arguments, diag);
    return diag << ")";
  }
  auto terminator =
      block.empty() ? ReturnOp() : dyn_cast<ReturnOp>(block.back());
  if (!terminator)
    return op->emitOpError() << name << " does not end in stablehlo.return";
  if (!llvm::equal(terminator->getOperandTypes(), results)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " returns values of types (";
    llvm::interleaveComma(terminator->getOperandTypes(), diag);
    diag << "), expected (";
    llvm::interleaveComma(results, diag);
    return diag << ")";
  }
  return success();
}

} // namespace pipemesh::stablehlo
