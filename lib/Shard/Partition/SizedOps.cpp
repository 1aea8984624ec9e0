//===- SizedOps.cpp - ops that name sizes of their operand ----------------===//

#include "Partitioner.h"

using namespace mlir;
using namespace pipemesh;

/// Only the outermost piece of a dimension may be short: its end stays the end.
static LogicalResult convertReshape(Partitioner &p, stablehlo::ReshapeOp op) {
  RankedTensorType type = p.localTypeOf(op.getResult());
  Value input = p.local(op.getOperand());
  auto from = cast<RankedTensorType>(input.getType());
  if (from.getNumElements() == type.getNumElements())
    return p.convertPlain(op);
  for (auto [dim, cut] : llvm::enumerate(p.cutsOf(op.getOperand())))
    if (cut.isUneven())
      return op.emitError("dimension ")
             << dim << " of operand 0 of size " << cut.size
             << " is cut unevenly over '" << cut.axes.back().getValue()
             << "', and the op takes it apart; cut it into equal pieces, or "
                "constrain it to be whole";
  return op.emitError("has ")
         << from << " on each rank, which cannot become " << type;
}

void pipemesh::registerSizedHandlers(OpHandlers &handlers) {
  handlers.add<stablehlo::ReshapeOp, convertReshape>();
}
