//===- SizedOps.cpp - ops that name sizes of their operand ----------------===//

#include "Partitioner.h"

using namespace mlir;
using namespace pipemesh;

/// A dimension that is taken whole is taken whole of the block.
static SmallVector<int64_t> localSizes(Partitioner &p, Value operand,
                                       ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> adapted(sizes);
  for (auto [size, cut] : llvm::zip_equal(adapted, p.cutsOf(operand)))
    if (cut.isCut())
      size = cut.block;
  return adapted;
}

static LogicalResult convertSlice(Partitioner &p, stablehlo::SliceOp op) {
  auto block =
      cast<stablehlo::SliceOp>(p.copy(op, p.locals(op->getOperands())));
  block.setLimitIndices(localSizes(p, op.getOperand(), op.getLimitIndices()));
  p.define(op.getResult(), block);
  return success();
}

static LogicalResult convertDynamicSlice(Partitioner &p,
                                         stablehlo::DynamicSliceOp op) {
  auto block =
      cast<stablehlo::DynamicSliceOp>(p.copy(op, p.locals(op->getOperands())));
  block.setSliceSizes(localSizes(p, op.getOperand(), op.getSliceSizes()));
  p.define(op.getResult(), block);
  return success();
}

static LogicalResult convertGather(Partitioner &p, stablehlo::GatherOp op) {
  auto block =
      cast<stablehlo::GatherOp>(p.copy(op, p.locals(op->getOperands())));
  block.setSliceSizes(localSizes(p, op.getOperand(), op.getSliceSizes()));
  p.define(op.getResult(), block);
  return success();
}

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
  handlers.add<stablehlo::SliceOp, convertSlice>();
  handlers.add<stablehlo::DynamicSliceOp, convertDynamicSlice>();
  handlers.add<stablehlo::GatherOp, convertGather>();
  handlers.add<stablehlo::ReshapeOp, convertReshape>();
}
