// Registration of the chlo dialect.
#include "pipemesh/Dialect/CHLO/CHLO.h"

using namespace mlir;
using namespace pipemesh::chlo;

#include "pipemesh/Dialect/CHLO/CHLODialect.cpp.inc"

#define GET_OP_CLASSES
#include "pipemesh/Dialect/CHLO/CHLO.cpp.inc"

void CHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/CHLO/CHLO.cpp.inc"
      >();
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t k = adaptor.getK();
  if (operand.getRank() == 0)
    return emitOptionalError(location,
                             "a rank-0 tensor has no last dimension");
  if (k < 0 || k > operand.getShape().back())
    return emitOptionalError(location, "takes ", k, " of ",
                             operand.getShape().back(), " elements");
  SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  types.push_back(operand.clone(shape));
  types.push_back(
      RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

void TopKOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getValues(), "values");
  setName(getIndices(), "indices");
}
