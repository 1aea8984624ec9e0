//===- GeneratedValues.cpp - constants and iotas of a block ---------------===//

#include "Partitioner.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

static LogicalResult convertConstant(Partitioner &p, stablehlo::ConstantOp op) {
  Value result = op.getResult();
  RankedTensorType type = p.localTypeOf(result);
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (type == result.getType() || !elements || !elements.isSplat()) {
    // Each rank holds the whole constant, and takes its block.
    Operation *whole = p.copy(op, {}, result.getType());
    p.define(result,
             p.sliceBlock(op.getLoc(), whole->getResult(0), p.cutsOf(result)));
    return success();
  }
  auto block = cast<stablehlo::ConstantOp>(p.copy(op, {}, type));
  block.setValueAttr(elements.resizeSplat(type));
  p.define(result, block);
  return success();
}

static LogicalResult convertIota(Partitioner &p, stablehlo::IotaOp op) {
  RankedTensorType type = p.localTypeOf(op.getResult());
  Cut cut = p.cutOf(op.getResult(), op.getIotaDimension());
  if (!cut.isCut() || isSeeded(Fault::LocalIota)) {
    p.define(op.getResult(), p.copy(op, {}, type)->getResult(0));
    return success();
  }
  // Counted in i32, which holds every index: the sum of a place and an offset
  // that are rounded to a narrow type is another number than the rounded sum.
  TensorBuilder b(p.builder, op.getLoc());
  Type i32 = p.builder.getI32Type();
  Value places = b.iota(type.getShape(), i32, op.getIotaDimension());
  Value offset = p.offsetOf(op.getLoc(), cut);
  Value sum = b.add(places, b.broadcast(offset, {}, type.getShape()));
  if (type.getElementType() != i32)
    sum = b.convert(sum, type.getElementType());
  p.define(op.getResult(), sum);
  return success();
}

void pipemesh::registerGeneratedHandlers(OpHandlers &handlers) {
  handlers.add<stablehlo::ConstantOp, convertConstant>();
  handlers.add<stablehlo::IotaOp, convertIota>();
}
