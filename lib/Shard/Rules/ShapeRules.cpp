//===- ShapeRules.cpp - sharding rules of ops that move elements ----------===//

#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// constant, iota: partitioning adapts the value to the shard.
static ShardingRule generated(Operation *op) { return pointwiseRule(op, {}); }

/// rng_bit_generator: a block of the bits is cut from all of them, which each
/// rank makes, so that they are the same on every mesh.
static ShardingRule randomBits(RngBitGeneratorOp op) {
  RuleBuilder builder(op);
  SmallVector<int64_t> factors;
  for (int64_t size : shapeOf(op.getOutput()))
    factors.push_back(builder.parallel(size));
  constexpr const char *reason = "a state is one vector";
  int64_t words = shapeOf(op.getInitialState())[0];
  int64_t state = builder.replicated(words, reason);
  builder.operandDims(0, state).resultDims(0, state).resultDims(1, factors);
  return builder.take();
}

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
      builder.operand(
          0, i,
          builder.replicated(a, "a reshape joins it in other pieces than it "
                                "has"));
  for (; j < to.size(); next(to, j, b))
    if (b != 1)
      builder.result(
          0, j,
          builder.replicated(b, "a reshape joins it in other pieces than it "
                                "has"));
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

/// The bits of each element by themselves; an element that becomes several, or
/// is joined from several, has them along a last dimension.
static ShardingRule bitcastConvert(BitcastConvertOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  size_t shared = std::min(from.size(), to.size());
  for (size_t dim = 0; dim < shared; ++dim) {
    int64_t factor = builder.parallel(from[dim]);
    builder.operand(0, dim, factor).result(0, dim, factor);
  }
  constexpr const char *reason = "its elements are bits of one element";
  if (from.size() > shared)
    builder.operand(0, shared, builder.replicated(from[shared], reason));
  if (to.size() > shared)
    builder.result(0, shared, builder.replicated(to[shared], reason));
  return builder.take();
}

void pipemesh::attachShapeRules(MLIRContext *context) {
  attachRule<ConstantOp, generated>(context);
  attachRule<IotaOp, generated>(context);
  attachRule<RngBitGeneratorOp, randomBits>(context);
  attachRule<BroadcastInDimOp, broadcast>(context);
  attachRule<ReshapeOp, reshape>(context);
  attachRule<TransposeOp, transpose>(context);
  attachRule<BitcastConvertOp, bitcastConvert>(context);
}
