//===- WindowOps.cpp - running reductions and convolutions ----------------===//

#include "../Rules/Monoids.h"
#include "IndexMath.h"
#include "MovedOps.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

namespace {
/// A window that grows along one dimension: all elements up to the present one,
/// or from it on.
struct RunningReduction {
  unsigned dim = 0;
  bool isForward = true;
  Operation *body = nullptr;
};
} // namespace

/// A reduction whose body can be applied to tensors, of a window as long as its
/// dimension.
static std::optional<RunningReduction> getRunning(ReduceWindowOp op) {
  RunningReduction running;
  running.body = getAppliedOp(op.getBody());
  if (op.getInputs().size() != 1 || !running.body ||
      !isNeutral(op.getInitValues()[0], running.body))
    return std::nullopt;
  auto type = Partitioner::globalTypeOf(op.getInputs()[0]);
  bool found = false;
  for (auto [dim, window] : llvm::enumerate(op.getWindows())) {
    if (window.stride != 1 || window.baseDilation != 1)
      return std::nullopt;
    int64_t before = type.getDimSize(dim) - 1;
    if (window.size == 1 && window.low == 0 && window.high == 0)
      continue;
    bool isForward = window.low == before && window.high == 0;
    bool isBackward = window.high == before && window.low == 0;
    if (found || window.dilation != 1 || window.size != before + 1 ||
        !(isForward || isBackward))
      return std::nullopt;
    found = true;
    running.dim = dim;
    running.isForward = isForward;
  }
  return found ? std::optional(running) : std::nullopt;
}

static Value apply(BlockBuilder &b, Operation *body, Value lhs, Value rhs) {
  OperationState state(b.loc, body->getName(), {lhs, rhs}, lhs.getType());
  return b.builder.create(state)->getResult(0);
}

/// What the blocks before this one (behind it) make of a row: the whole
/// reductions of all blocks are gathered, and those that count reduced.
static Value reduceOthers(BlockBuilder &b, ReduceWindowOp op,
                          const RunningReduction &running, const Cut &cut,
                          Value total) {
  b.p.why = "the totals of the other blocks are added to its own";
  Value all = b.p.allGather(b.loc, total, running.dim, cut.blocks, cut.axes);
  RankedTensorType type = b.typeOf(all);
  Value neutral = ConstantOp::create(b.builder, b.loc, type,
                                     getNeutralOf(running.body, type));
  Value own = b.broadcast(b.p.blockIndex(b.loc, cut.axes), {}, type.getShape());
  Value counts = b.compare(b.places(type.getShape(), running.dim), own,
                           running.isForward ? ComparisonDirection::LT
                                             : ComparisonDirection::GT);
  Value init = b.p.local(op.getInitValues()[0]);
  return ReduceOp::create(b.builder, b.loc, b.select(counts, all, neutral),
                          init, {static_cast<int64_t>(running.dim)},
                          running.body->getName().getStringRef())
      ->getResult(0);
}

static LogicalResult convertRunning(Partitioner &p, ReduceWindowOp op,
                                    const RunningReduction &running,
                                    const Cut &cut) {
  BlockBuilder b(p, op.getLoc());
  unsigned dim = running.dim;
  Value row = p.local(op.getInputs()[0]);
  RankedTensorType type = b.typeOf(row);
  if (cut.isUneven())
    row = p.mask(op.getLoc(), row, dim, cut,
                 ConstantOp::create(b.builder, b.loc, type,
                                    getNeutralOf(running.body, type)));
  SmallVector<int64_t> sizes(op.getWindowDimensions());
  sizes[dim] = cut.block;
  SmallVector<int64_t> padding(2 * type.getRank(), 0);
  padding[2 * dim + (running.isForward ? 0 : 1)] = cut.block - 1;
  auto own = cast<ReduceWindowOp>(
      p.copy(op, {row, p.local(op.getInitValues()[0])}));
  own.setWindowDimensions(sizes);
  own.setPaddingAttr(DenseIntElementsAttr::get(
      RankedTensorType::get({type.getRank(), 2}, b.builder.getI64Type()),
      padding));
  Value result = own->getResult(0);
  if (isSeeded(Fault::LocalRunning)) {
    p.define(op->getResult(0), result);
    return success();
  }
  int64_t last = running.isForward ? cut.block - 1 : 0;
  Value others = reduceOthers(b, op, running, cut,
                              b.slice(result, dim, last, last + 1));
  SmallVector<int64_t> dims;
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != dim)
      dims.push_back(other);
  others = b.broadcast(others, dims, type.getShape());
  p.define(op->getResult(0), apply(b, running.body, others, result));
  return success();
}

static LogicalResult convertReduceWindow(Partitioner &p, ReduceWindowOp op) {
  if (auto running = getRunning(op)) {
    Cut cut = p.cutOf(op.getInputs()[0], running->dim);
    if (cut.isCut() && cut.block > 0)
      return convertRunning(p, op, *running, cut);
  }
  return convertMovedByCopy(p, op);
}

static LogicalResult convertConvolution(Partitioner &p, ConvolutionOp op) {
  return convertMoved(
      p, op, p.maskedOperands(op),
      [&](const MovedOp &moved) -> SmallVector<Value> {
        ArrayRef<Value> operands = moved.operands;
        auto block = cast<ConvolutionOp>(p.copy(op, operands, moved.types));
        if (op.getFeatureGroupCount() > 1) {
          ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
          block.setFeatureGroupCount(
              BlockBuilder::shapeOf(
                  operands[0])[dims.getInputFeatureDimension()] /
              BlockBuilder::shapeOf(
                  operands[1])[dims.getKernelInputFeatureDimension()]);
        }
        return {block.getResult()};
      });
}

void pipemesh::registerWindowHandlers(OpHandlers &handlers) {
  handlers.add<ReduceWindowOp, convertReduceWindow>();
  handlers.add<ConvolutionOp, convertConvolution>();
}
