//===- ShapeRules.cpp - sharding rules of ops that move elements ----------===//

#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// constant, iota: partitioning adapts the value to the shard.
static ShardingRule generated(Operation *op) { return pointwiseRule(op, {}); }

static ShardingRule broadcast(BroadcastInDimOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  SmallVector<int64_t> factors;
  for (int64_t size : shapeOf(op.getResult()))
    factors.push_back(builder.parallel(size));
  builder.resultDims(0, factors);
  for (auto [dim, target] : llvm::enumerate(op.getBroadcastDimensions()))
    if (from[dim] == shapeOf(op.getResult())[target])
      builder.operand(0, dim, factors[target]);
  builder.linear({0});
  return builder.take();
}

/// Walks both shapes from the major side. Where the present sizes share a
/// divisor, both get a factor of that size; what remains and shares none is
/// mixed, and needs replication: [12, 8] to [16, 6] shares 4, then nothing.
static ShardingRule reshape(ReshapeOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  if (llvm::is_contained(from, 0))
    return builder.take(); // Nothing to cut.
  size_t i = 0, j = 0;
  int64_t a = from.empty() ? 1 : from[0], b = to.empty() ? 1 : to[0];
  auto next = [](ArrayRef<int64_t> shape, size_t &index, int64_t &rest) {
    ++index;
    rest = index < shape.size() ? shape[index] : 1;
  };
  while (i < from.size() && j < to.size()) {
    if (from[i] == 1 && to[j] == 1) {
      int64_t factor = builder.parallel(1);
      builder.operand(0, i, factor).result(0, j, factor);
      next(from, i, a);
      next(to, j, b);
    } else if (a == 1) {
      next(from, i, a);
    } else if (b == 1) {
      next(to, j, b);
    } else {
      int64_t common = std::gcd(a, b);
      if (common > 1) {
        int64_t factor = builder.parallel(common);
        builder.operand(0, i, factor).result(0, j, factor);
        a /= common;
        b /= common;
      }
      if (a > 1 && b > 1)
        break;
    }
  }
  // What is left of both sides is mixed.
  for (; i < from.size(); next(from, i, a))
    if (a != 1)
      builder.operand(0, i, builder.replicated(a));
  for (; j < to.size(); next(to, j, b))
    if (b != 1)
      builder.result(0, j, builder.replicated(b));
  builder.linear({0});
  return builder.take();
}

static ShardingRule transpose(TransposeOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  for (auto [dim, source] : llvm::enumerate(op.getPermutation())) {
    int64_t factor = builder.parallel(from[source]);
    builder.operand(0, source, factor).result(0, dim, factor);
  }
  builder.linear({0});
  return builder.take();
}

static ShardingRule reverse(ReverseOp op) {
  RuleBuilder builder(op);
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    bool reversed = llvm::is_contained(op.getDimensions(), dim);
    int64_t factor =
        reversed ? builder.replicated(size) : builder.parallel(size);
    builder.operand(0, dim, factor).result(0, dim, factor);
  }
  builder.linear({0});
  return builder.take();
}

static ShardingRule concatenate(ConcatenateOp op) {
  RuleBuilder builder(op);
  SmallVector<unsigned> all;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getResult()))) {
    bool joined = dim == op.getDimension();
    int64_t factor = joined ? builder.replicated(size) : builder.parallel(size);
    builder.result(0, dim, factor);
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      builder.operand(
          index, dim,
          joined ? builder.replicated(shapeOf(op->getOperand(index))[dim])
                 : factor);
  }
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    all.push_back(index);
  builder.linear(all);
  return builder.take();
}

/// A dimension that keeps all of its elements is parallel.
static void keptDims(RuleBuilder &builder, ArrayRef<int64_t> from,
                     ArrayRef<int64_t> to,
                     llvm::function_ref<bool(unsigned)> isKept) {
  for (unsigned dim = 0; dim < from.size(); ++dim) {
    if (isKept(dim)) {
      int64_t factor = builder.parallel(from[dim]);
      builder.operand(0, dim, factor).result(0, dim, factor);
    } else {
      builder.operand(0, dim, builder.replicated(from[dim]));
      builder.result(0, dim, builder.replicated(to[dim]));
    }
  }
}

static ShardingRule slice(SliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  keptDims(builder, from, to, [&](unsigned dim) {
    return from[dim] == to[dim] && op.getStrides()[dim] == 1;
  });
  builder.linear({0});
  return builder.take();
}

static ShardingRule pad(PadOp op) {
  RuleBuilder builder(op);
  keptDims(builder, shapeOf(op.getOperand()), shapeOf(op.getResult()),
           [&](unsigned dim) {
             return op.getEdgePaddingLow()[dim] == 0 &&
                    op.getEdgePaddingHigh()[dim] == 0 &&
                    op.getInteriorPadding()[dim] == 0;
           });
  builder.linear({0, 1});
  return builder.take();
}

static ShardingRule dynamicSlice(DynamicSliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  keptDims(builder, from, to,
           [&](unsigned dim) { return from[dim] == to[dim]; });
  builder.linear({0});
  return builder.take();
}

static ShardingRule dynamicUpdateSlice(DynamicUpdateSliceOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> whole = shapeOf(op.getOperand());
  ArrayRef<int64_t> part = shapeOf(op.getUpdate());
  for (unsigned dim = 0; dim < whole.size(); ++dim) {
    bool kept = whole[dim] == part[dim];
    int64_t factor =
        kept ? builder.parallel(whole[dim]) : builder.replicated(whole[dim]);
    builder.operand(0, dim, factor).result(0, dim, factor);
    builder.operand(1, dim, kept ? factor : builder.replicated(part[dim]));
  }
  builder.linear({0, 1});
  return builder.take();
}

void pipemesh::attachShapeRules(MLIRContext *context) {
  attachRule<ConstantOp, generated>(context);
  attachRule<IotaOp, generated>(context);
  attachRule<BroadcastInDimOp, broadcast>(context);
  attachRule<ReshapeOp, reshape>(context);
  attachRule<TransposeOp, transpose>(context);
  attachRule<ReverseOp, reverse>(context);
  attachRule<ConcatenateOp, concatenate>(context);
  attachRule<SliceOp, slice>(context);
  attachRule<PadOp, pad>(context);
  attachRule<DynamicSliceOp, dynamicSlice>(context);
  attachRule<DynamicUpdateSliceOp, dynamicUpdateSlice>(context);
}
