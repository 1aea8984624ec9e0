//===- Contraction.cpp - gradients of dot_general -------------------------===//

#include "Models.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// The dimensions of an operand that are neither batched nor contracted.
static SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batch,
                                        ArrayRef<int64_t> contracted) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim))
      free.push_back(dim);
  return free;
}

/// The permutation that sorts `origin`, which names for each dimension of a
/// value the dimension of the operand that it is.
static SmallVector<int64_t> getOrder(ArrayRef<int64_t> origin) {
  SmallVector<int64_t> order(origin.size());
  for (auto [position, dim] : llvm::enumerate(origin))
    order[dim] = position;
  return order;
}

/// With y[b, m, n] = sum_k l[b, m, k] r[b, n, k] the cotangent of l is
/// sum_n dy[b, m, n] r[b, n, k], and that of r likewise. Either factor can
/// stand on the left; the side is chosen for which the result has the operand's
/// layout, so that it needs no transposition.
static Value dotGradient(DotGeneralOp op, GradientBuilder &g, unsigned operand,
                         ValueRange cotangents) {
  DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  bool left = operand == 0;
  Value self = left ? op.getLhs() : op.getRhs();
  Value other = left ? op.getRhs() : op.getLhs();
  auto selfType = cast<RankedTensorType>(self.getType());
  auto otherType = cast<RankedTensorType>(other.getType());
  ArrayRef<int64_t> selfBatch = left ? numbers.getLhsBatchingDimensions()
                                     : numbers.getRhsBatchingDimensions();
  ArrayRef<int64_t> otherBatch = left ? numbers.getRhsBatchingDimensions()
                                      : numbers.getLhsBatchingDimensions();
  ArrayRef<int64_t> selfContracted =
      left ? numbers.getLhsContractingDimensions()
           : numbers.getRhsContractingDimensions();
  ArrayRef<int64_t> otherContracted =
      left ? numbers.getRhsContractingDimensions()
           : numbers.getLhsContractingDimensions();
  SmallVector<int64_t> selfFree =
      getFreeDims(selfType.getRank(), selfBatch, selfContracted);
  SmallVector<int64_t> otherFree =
      getFreeDims(otherType.getRank(), otherBatch, otherContracted);

  // The dimensions of dy: batching ones, those of the left, of the right.
  int64_t batchRank = selfBatch.size();
  int64_t lhsFree = left ? selfFree.size() : otherFree.size();
  auto dyBatch = llvm::to_vector(llvm::seq<int64_t>(0, batchRank));
  int64_t otherBegin = left ? batchRank + lhsFree : batchRank;
  auto dyContracted = llvm::to_vector(
      llvm::seq<int64_t>(otherBegin, otherBegin + otherFree.size()));

  // The remaining dimensions of the other operand are its contracted ones in
  // ascending order; which dimensions of the operand are these?
  SmallVector<int64_t> byOther =
      llvm::to_vector(llvm::seq<int64_t>(0, otherContracted.size()));
  llvm::sort(byOther, [&](int64_t a, int64_t b) {
    return otherContracted[a] < otherContracted[b];
  });
  SmallVector<int64_t> contractedOrigin;
  for (int64_t index : byOther)
    contractedOrigin.push_back(selfContracted[index]);
  SmallVector<int64_t> dyFirst(selfBatch), otherFirst(selfBatch);
  llvm::append_range(dyFirst, selfFree);
  llvm::append_range(dyFirst, contractedOrigin);
  llvm::append_range(otherFirst, contractedOrigin);
  llvm::append_range(otherFirst, selfFree);
  bool isDyLeft = llvm::is_sorted(dyFirst) || !llvm::is_sorted(otherFirst);

  // Both factors in the type of the cotangent, which is the more precise one.
  Value dy = cotangents[0];
  Type computeType = cast<RankedTensorType>(dy.getType()).getElementType();
  other = g.convert(other, computeType);
  Value result =
      isDyLeft ? DotGeneralOp::create(g.builder, g.loc, dy, other, dyBatch,
                                      otherBatch, dyContracted, otherFree)
               : DotGeneralOp::create(g.builder, g.loc, other, dy, otherBatch,
                                      dyBatch, otherFree, dyContracted);
  if (ArrayAttr precision = op.getPrecisionConfigAttr()) {
    // The cotangent stands where the operand stood.
    Attribute ofDy = precision[left ? 0 : 1], ofOther = precision[left ? 1 : 0];
    auto dot = cast<DotGeneralOp>(result.getDefiningOp());
    dot.setPrecisionConfigAttr(isDyLeft
                                   ? g.builder.getArrayAttr({ofDy, ofOther})
                                   : g.builder.getArrayAttr({ofOther, ofDy}));
  }
  result = g.transpose(result, getOrder(isDyLeft ? dyFirst : otherFirst));
  return g.convert(result, selfType.getElementType());
}

void pipemesh::attachContractionGradients(MLIRContext *context) {
  DotGeneralOp::attachInterface<GradientModel<DotGeneralOp, dotGradient>>(
      *context);
}
