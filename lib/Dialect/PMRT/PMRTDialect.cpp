//===- PMRTDialect.cpp - registration and verifiers -----------------------===//

#include "pipemesh/Dialect/PMRT/PMRT.h"

using namespace mlir;
using namespace pipemesh::pmrt;

#include "pipemesh/Dialect/PMRT/PMRTDialect.cpp.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/PMRT/PMRTOps.cpp.inc"

void PMRTDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/PMRT/PMRTOps.cpp.inc"
      >();
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a region whose arguments are not its operands");
  if (block.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("yields other types than its results");
  if (getInPlace().size() != getNumResults())
    return emitOpError("has ") << getInPlace().size()
                               << " entries in 'in_place' for "
                               << getNumResults() << " results";
  for (auto [index, operand] : llvm::enumerate(getInPlace())) {
    if (operand < 0)
      continue;
    if (operand >= static_cast<int64_t>(getInputs().size()) ||
        getInputs()[operand].getType() != getResult(index).getType())
      return emitOpError("'in_place' gives result ")
             << index << " the buffer of operand " << operand
             << ", which is not an operand of the same type";
  }
  return success();
}
