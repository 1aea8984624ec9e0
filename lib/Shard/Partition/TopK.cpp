//===- TopK.cpp - the largest elements of cut rows ------------------------===//

#include "IndexMath.h"
#include "MovedOps.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"

using namespace mlir;
using namespace pipemesh;

/// The smallest element of the type: of equal ones the first is taken, so that
/// padding comes after all that exists.
static Value lowest(BlockBuilder &b, RankedTensorType type) {
  TypedAttr value = getNeutral(ReductionKind::Max, type.getElementType());
  return stablehlo::ConstantOp::create(
      b.builder, b.loc, type, DenseElementsAttr::get(type, Attribute(value)));
}

/// For each place, the element of `values` that lies there in its row.
static Value takeAlong(BlockBuilder &b, Value values, Value places) {
  RankedTensorType type = b.typeOf(values).clone(b.shapeOf(places));
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> rows, indexShape(type.getShape()), sizes(last + 1, 1);
  for (int64_t dim = 0; dim < last; ++dim)
    rows.push_back(dim);
  indexShape.push_back(1);
  Value indices = b.reshape(places, indexShape);
  auto dims = stablehlo::GatherDimensionNumbersAttr::get(
      b.builder.getContext(), /*offsetDims=*/{}, /*collapsedSliceDims=*/{last},
      /*operandBatchingDims=*/rows, /*startIndicesBatchingDims=*/rows,
      /*startIndexMap=*/{last}, /*indexVectorDim=*/last + 1);
  return stablehlo::GatherOp::create(b.builder, b.loc, type, values, indices,
                                     dims, sizes, /*indicesAreSorted=*/false);
}

static LogicalResult convertTopK(Partitioner &p, chlo::TopKOp op) {
  int64_t last = Partitioner::globalTypeOf(op.getOperand()).getRank() - 1;
  Cut cut = p.cutOf(op.getOperand(), last);
  int64_t k = std::min<int64_t>(op.getK(), cut.block);
  // A candidate is an element and its index.
  if (!cut.isCut() || 2 * k >= cut.block ||
      p.localTypeOf(op.getOperand()).getNumElements() == 0)
    return convertMovedByCopy(p, op);
  BlockBuilder b(p, op.getLoc());
  Value row = p.local(op.getOperand());
  if (cut.isUneven())
    row = p.mask(op.getLoc(), row, last, cut, lowest(b, b.typeOf(row)));
  RankedTensorType values = p.localTypeOf(op.getValues()),
                   indices = p.localTypeOf(op.getIndices());
  SmallVector<int64_t> shape(values.getShape());
  shape[last] = k;
  auto own = cast<chlo::TopKOp>(
      p.copy(op, row, {values.clone(shape), indices.clone(shape)}));
  own.setK(k);
  Value offset = b.convert(p.offsetOf(op.getLoc(), cut),
                           indices.getElementType());
  Value places = b.add(own.getIndices(), b.broadcast(offset, {}, shape));
  p.why = "the first k of each block are compared";
  Value candidates = p.allGather(op.getLoc(), own.getValues(), last,
                                 k * cut.blocks, cut.axes);
  places = p.allGather(op.getLoc(), places, last, k * cut.blocks, cut.axes);
  auto best =
      cast<chlo::TopKOp>(p.copy(op, candidates, {values, indices}));
  p.define(op.getValues(), best.getValues());
  p.define(op.getIndices(), takeAlong(b, places, best.getIndices()));
  return success();
}

void pipemesh::registerTopKHandlers(OpHandlers &handlers) {
  handlers.add<chlo::TopKOp, convertTopK>();
}
