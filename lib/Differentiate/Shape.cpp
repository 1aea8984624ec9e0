//===- Shape.cpp - gradients of ops that move elements --------------------===//

#include "Models.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// The sum over what was repeated, in the operand's order of dimensions.
static Value broadcastGradient(BroadcastInDimOp op, GradientBuilder &g,
                               unsigned, ValueRange dy) {
  RankedTensorType from = op.getOperand().getType();
  ArrayRef<int64_t> shape = op.getType().getShape();
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  // The operand's dimension that stays in each dimension of the result.
  SmallVector<int64_t> source(shape.size(), -1);
  for (auto [operandDim, dim] : llvm::enumerate(dims))
    if (from.getDimSize(operandDim) == shape[dim])
      source[dim] = operandDim;
  SmallVector<int64_t> reduced, left;
  for (auto [dim, operandDim] : llvm::enumerate(source))
    operandDim < 0 ? reduced.push_back(dim) : left.push_back(operandDim);
  Value sum = g.reduceSum(dy[0], reduced);
  // `left` lists the operand's dimensions in the order in which the sum has
  // them; sorted positions put them in the operand's own order.
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, left.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return left[a] < left[b]; });
  return g.reshape(g.transpose(sum, order), from.getShape());
}

static Value reshapeGradient(ReshapeOp op, GradientBuilder &g, unsigned,
                             ValueRange dy) {
  return g.reshape(dy[0], op.getOperand().getType().getShape());
}

static Value transposeGradient(TransposeOp op, GradientBuilder &g, unsigned,
                               ValueRange dy) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [position, dim] : llvm::enumerate(op.getPermutation()))
    inverse[dim] = position;
  return g.transpose(dy[0], inverse);
}

static Value reverseGradient(ReverseOp op, GradientBuilder &g, unsigned,
                             ValueRange dy) {
  return ReverseOp::create(g.builder, g.loc, dy[0], op.getDimensions());
}

static Value concatenateGradient(ConcatenateOp op, GradientBuilder &g,
                                 unsigned operand, ValueRange dy) {
  int64_t dim = op.getDimension();
  auto sizeOf = [&](unsigned index) {
    return cast<RankedTensorType>(op->getOperand(index).getType())
        .getDimSize(dim);
  };
  SmallVector<int64_t> start(op.getType().getRank(), 0);
  SmallVector<int64_t> limit(op.getType().getShape());
  for (unsigned before = 0; before < operand; ++before)
    start[dim] += sizeOf(before);
  limit[dim] = start[dim] + sizeOf(operand);
  if (llvm::equal(limit, op.getType().getShape()) && start[dim] == 0)
    return dy[0];
  return SliceOp::create(g.builder, g.loc, dy[0], start, limit,
                         SmallVector<int64_t>(start.size(), 1));
}

/// The elements of dy at the places to which the operand's elements went. What
/// a negative edge padding removed gets zeros.
static Value padOperandGradient(PadOp op, GradientBuilder &g, Value dy) {
  RankedTensorType from = op.getOperand().getType();
  int64_t rank = from.getRank();
  // First undo the edges: dy padded by the negated amounts spans exactly the
  // operand with its interior padding.
  SmallVector<int64_t> low, high, none(rank, 0), start(rank, 0), limit, strides;
  for (int64_t dim = 0; dim < rank; ++dim) {
    low.push_back(-op.getEdgePaddingLow()[dim]);
    high.push_back(-op.getEdgePaddingHigh()[dim]);
    int64_t stride = op.getInteriorPadding()[dim] + 1;
    int64_t size = from.getDimSize(dim);
    limit.push_back(size == 0 ? 0 : (size - 1) * stride + 1);
    strides.push_back(stride);
  }
  auto isOne = [](int64_t stride) { return stride == 1; };
  bool unedged = llvm::equal(low, none) && llvm::equal(high, none);
  Value zero = g.zeros(RankedTensorType::get({}, from.getElementType()));
  Value span =
      unedged
          ? dy
          : Value(PadOp::create(g.builder, g.loc, dy, zero, low, high, none));
  if (llvm::all_of(strides, isOne))
    return span;
  return SliceOp::create(g.builder, g.loc, span, start, limit, strides);
}

/// What does not go to the operand goes to the padding value.
static Value padGradient(PadOp op, GradientBuilder &g, unsigned operand,
                         ValueRange dy) {
  Value inside = padOperandGradient(op, g, dy[0]);
  if (operand == 0)
    return inside;
  return g.subtract(g.reduceSum(dy[0]), g.reduceSum(inside));
}

static Value sliceGradient(SliceOp op, GradientBuilder &g, unsigned,
                           ValueRange dy) {
  RankedTensorType from = op.getOperand().getType();
  SmallVector<int64_t> low, high, interior;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t stride = op.getStrides()[dim], size = op.getType().getDimSize(dim);
    int64_t span = size == 0 ? 0 : (size - 1) * stride + 1;
    low.push_back(op.getStartIndices()[dim]);
    high.push_back(from.getDimSize(dim) - low.back() - span);
    interior.push_back(stride - 1);
  }
  Value zero = g.zeros(RankedTensorType::get({}, from.getElementType()));
  return PadOp::create(g.builder, g.loc, dy[0], zero, low, high, interior);
}

/// The barrier stands between the forward values; their cotangents need none.
static Value barrierGradient(OptimizationBarrierOp, GradientBuilder &,
                             unsigned operand, ValueRange dy) {
  return dy[operand];
}

template <typename Op, auto Gradient> static void attach(MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, Gradient>>(*context);
}

void pipemesh::attachShapeGradients(MLIRContext *context) {
  attach<BroadcastInDimOp, broadcastGradient>(context);
  attach<ConcatenateOp, concatenateGradient>(context);
  attach<OptimizationBarrierOp, barrierGradient>(context);
  attach<PadOp, padGradient>(context);
  attach<ReshapeOp, reshapeGradient>(context);
  attach<ReverseOp, reverseGradient>(context);
  attach<SliceOp, sliceGradient>(context);
  attach<TransposeOp, transposeGradient>(context);
}
