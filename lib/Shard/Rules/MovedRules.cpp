//===- MovedRules.cpp - sharding rules of ops that shift elements ---------===//
//
// Along a dimension whose elements move, a block of the result holds elements
// of other ranks' blocks. Such a dimension is exchanged: operands and results
// are cut alike, and partitioning moves what has to move.
//
//===----------------------------------------------------------------------===//

#include "Monoids.h"
#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// Each dimension by itself, parallel or as one in which elements move.
static SmallVector<int64_t> dimsMovedAlong(RuleBuilder &builder,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> moved) {
  SmallVector<int64_t> factors;
  for (auto [dim, size] : llvm::enumerate(shape))
    factors.push_back(llvm::is_contained(moved, dim) && size > 1
                          ? builder.exchanged(size)
                          : builder.parallel(size));
  return factors;
}

static ShardingRule reverse(ReverseOp op) {
  RuleBuilder builder(op);
  SmallVector<int64_t> factors =
      dimsMovedAlong(builder, shapeOf(op.getOperand()), op.getDimensions());
  builder.operandDims(0, factors).resultDims(0, factors).linear({0});
  return builder.take();
}

static ShardingRule concatenate(ConcatenateOp op) {
  RuleBuilder builder(op);
  int64_t largest = 0;
  for (Value operand : op->getOperands())
    largest = std::max(largest, shapeOf(operand)[op.getDimension()]);
  SmallVector<unsigned> all;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getResult()))) {
    bool isJoined = dim == op.getDimension();
    int64_t factor = isJoined ? builder.exchanged(size) : builder.parallel(size);
    builder.result(0, dim, factor);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      int64_t part = shapeOf(operand)[dim];
      builder.operand(index, dim,
                      !isJoined || areCutAlike(part, largest)
                          ? factor
                          : builder.replicated(
                                part, "it is a small part of what is joined"));
    }
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    all.push_back(index);
  builder.linear(all);
  return builder.take();
}

/// A part of a dimension: cut like the whole, or, where it is small, found on
/// the ranks that have it and added up.
static void partOfDim(RuleBuilder &builder, Value result, unsigned dim,
                      int64_t from, int64_t to) {
  if (areCutAlike(from, to) && to > 1) {
    int64_t factor = builder.exchanged(std::max(from, to));
    builder.operand(0, dim, factor).result(0, dim, factor);
    return;
  }
  builder.operand(0, dim, builder.reduction(from, foundKind(result)));
  builder.result(0, dim,
                 builder.replicated(to, "it is a small part of a dimension"));
}

static ShardingRule slice(SliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    if (from[dim] == to[dim]) {
      int64_t factor = builder.parallel(from[dim]);
      builder.operand(0, dim, factor).result(0, dim, factor);
    } else {
      partOfDim(builder, op.getResult(), dim, from[dim], to[dim]);
    }
  }
  builder.linear({0});
  return builder.take();
}

static ShardingRule dynamicSlice(DynamicSliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    if (from[dim] == to[dim]) {
      int64_t factor = builder.parallel(from[dim]);
      builder.operand(0, dim, factor).result(0, dim, factor);
    } else if (2 * to[dim] > from[dim]) {
      int64_t factor = builder.exchanged(from[dim]);
      builder.operand(0, dim, factor).result(0, dim, factor);
    } else {
      // Each rank gives what it has of the window.
      builder.operand(
          0, dim, builder.reduction(from[dim], foundKind(op.getResult())));
      builder.result(
          0, dim,
          builder.replicated(to[dim], "where it starts is known at run time"));
    }
  }
  builder.linear({0});
  return builder.take();
}

static ShardingRule dynamicUpdateSlice(DynamicUpdateSliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> whole = shapeOf(op.getOperand());
  ArrayRef<int64_t> part = shapeOf(op.getUpdate());
  for (unsigned dim = 0; dim < whole.size(); ++dim) {
    int64_t factor = builder.parallel(whole[dim]);
    builder.operand(0, dim, factor).result(0, dim, factor);
    builder.operand(1, dim,
                    whole[dim] == part[dim]
                        ? factor
                        : builder.replicated(
                              part[dim], "where it goes is known at run time"));
  }
  builder.linear({0, 1});
  return builder.take();
}

static ShardingRule pad(PadOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    bool kept = op.getEdgePaddingLow()[dim] == 0 &&
                op.getEdgePaddingHigh()[dim] == 0 &&
                (op.getInteriorPadding()[dim] == 0 || from[dim] <= 1);
    if (kept || areCutAlike(from[dim], to[dim])) {
      int64_t factor =
          kept ? builder.parallel(from[dim])
               : builder.exchanged(std::max(from[dim], to[dim]));
      builder.operand(0, dim, factor).result(0, dim, factor);
    } else {
      builder.operand(0, dim,
                      builder.replicated(from[dim], "the result has many times "
                                                    "its size, or a small part "
                                                    "of it"));
      builder.result(0, dim, builder.exchanged(to[dim]));
    }
  }
  builder.linear({0, 1});
  return builder.take();
}

/// Rows are sorted by themselves.
static ShardingRule sort(SortOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = shapeOf(op.getInputs()[0]);
  int64_t dim = op.getDimension();
  if (dim < 0)
    dim += shape.size();
  SmallVector<int64_t> factors = dimsMovedAlong(builder, shape, dim);
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    builder.operandDims(index, factors).resultDims(index, factors);
  return builder.take();
}

void pipemesh::attachMovedRules(MLIRContext *context) {
  attachRule<ReverseOp, reverse>(context);
  attachRule<ConcatenateOp, concatenate>(context);
  attachRule<SliceOp, slice>(context);
  attachRule<DynamicSliceOp, dynamicSlice>(context);
  attachRule<DynamicUpdateSliceOp, dynamicUpdateSlice>(context);
  attachRule<PadOp, pad>(context);
  attachRule<SortOp, sort>(context);
}
