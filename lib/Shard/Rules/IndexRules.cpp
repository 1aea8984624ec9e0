//===- IndexRules.cpp - sharding rules of indexed ops ---------------------===//

#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// gather: dimensions that are taken whole go through, those of the indices go
/// to the result, and those that are indexed must be whole. Linear in the
/// operand.
static ShardingRule gather(GatherOp op) {
  RuleBuilder builder(op);
  GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  ArrayRef<int64_t> operandShape = shapeOf(op.getOperand());
  ArrayRef<int64_t> indexShape = shapeOf(op.getStartIndices());
  ArrayRef<int64_t> resultShape = shapeOf(op.getResult());

  // The dimensions of the indices, without that of the index vector, are the
  // dimensions of the result outside of a slice, in order.
  SmallVector<int64_t> indexFactor(indexShape.size(), -1);
  unsigned batch = 0;
  for (auto [dim, size] : llvm::enumerate(indexShape)) {
    if (static_cast<int64_t>(dim) == dims.getIndexVectorDim()) {
      builder.operand(1, dim, builder.replicated(size));
      continue;
    }
    while (llvm::is_contained(dims.getOffsetDims(), batch))
      ++batch;
    int64_t factor = indexFactor[dim] = builder.parallel(size);
    builder.operand(1, dim, factor).result(0, batch++, factor);
  }
  unsigned offset = 0;
  for (auto [dim, size] : llvm::enumerate(operandShape)) {
    const auto *batching = llvm::find(dims.getOperandBatchingDims(), dim);
    if (batching != dims.getOperandBatchingDims().end()) {
      size_t position = batching - dims.getOperandBatchingDims().begin();
      int64_t indexDim = dims.getStartIndicesBatchingDims()[position];
      builder.operand(0, dim, indexFactor[indexDim]);
      continue;
    }
    if (llvm::is_contained(dims.getCollapsedSliceDims(), dim)) {
      builder.operand(0, dim, builder.replicated(size));
      continue;
    }
    int64_t resultDim = dims.getOffsetDims()[offset++];
    bool whole = op.getSliceSizes()[dim] == size;
    if (whole) {
      int64_t factor = builder.parallel(size);
      builder.operand(0, dim, factor).result(0, resultDim, factor);
    } else {
      builder.operand(0, dim, builder.replicated(size));
      builder.result(0, resultDim, builder.replicated(resultShape[resultDim]));
    }
  }
  builder.linear({0});
  return builder.take();
}

void pipemesh::attachIndexRules(MLIRContext *context) {
  attachRule<GatherOp, gather>(context);
}
