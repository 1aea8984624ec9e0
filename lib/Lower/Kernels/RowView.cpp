//===- RowView.cpp - how ops move through rows and columns ----------------===//

#include "KernelPlan.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pipemesh/Dialect/PM/PM.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;

int64_t pipemesh::getNumElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The number of leading dimensions whose sizes multiply to `rows`, or -1.
static int64_t getSplit(ArrayRef<int64_t> shape, int64_t rows) {
  int64_t split = 0, count = 1;
  while (count < rows && split < static_cast<int64_t>(shape.size()))
    count *= shape[split++];
  return count == rows ? split : -1;
}

namespace {
/// Arithmetic on row indices; does nothing while planning.
struct RowMath {
  OpBuilder *builder;
  Location loc;

  Value constant(int64_t value) {
    return arith::ConstantOp::create(*builder, loc,
                                     builder->getI64IntegerAttr(value));
  }

  /// The coordinates of `row` in a space of the given sizes.
  SmallVector<Value> split(Value row, ArrayRef<int64_t> sizes) {
    SmallVector<Value> coordinates(sizes.size());
    if (!builder)
      return coordinates;
    for (int64_t i = sizes.size() - 1; i >= 0; --i) {
      if (i == 0 || row == nullptr) {
        coordinates[i] = row;
        continue;
      }
      Value size = constant(sizes[i]);
      coordinates[i] = arith::RemUIOp::create(*builder, loc, row, size);
      row = arith::DivUIOp::create(*builder, loc, row, size);
    }
    return coordinates;
  }

  Value scaleAndAdd(Value sum, int64_t scale, Value value) {
    if (!builder)
      return {};
    if (scale != 1)
      sum = arith::MulIOp::create(*builder, loc, sum, constant(scale));
    return arith::AddIOp::create(*builder, loc, sum, value);
  }
};
} // namespace

static LogicalResult mapBroadcast(OpBuilder *builder,
                                  stablehlo::BroadcastInDimOp op,
                                  const RowView &view,
                                  SmallVectorImpl<OperandView> &operands) {
  ArrayRef<int64_t> from = getShape(op.getOperand()),
                    to = getShape(op.getResult()),
                    dims = op.getBroadcastDimensions();
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] <= dims[i - 1])
      return failure();
  if (product(from) == product(to)) {
    operands.push_back({0, view});
    return success();
  }
  if (product(from) == 1) {
    operands.push_back({0, RowView::uniform(view.identity && view.rows == 1)});
    if (builder)
      operands.back().view.row = RowMath{builder, op.getLoc()}.constant(0);
    return success();
  }
  int64_t split = getSplit(to, view.rows);
  if (split < 0)
    return failure();
  RowMath math{builder, op.getLoc()};
  int64_t columns = product(to.drop_front(split));
  RowView mapped = view;
  mapped.rows = 1;
  int64_t innerElements = 1;
  SmallVector<unsigned> outer;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (dim >= split) {
      innerElements *= from[index];
    } else if (from[index] != 1) {
      outer.push_back(index);
      mapped.rows *= from[index];
    }
  }
  if (mapped.rows != view.rows) {
    mapped.identity = false;
    SmallVector<Value> coordinates = math.split(view.row, to.take_front(split));
    if (builder) {
      mapped.row = nullptr;
      for (unsigned index : outer) {
        Value coordinate = coordinates[dims[index]];
        mapped.row = mapped.row
                         ? math.scaleAndAdd(mapped.row, from[index], coordinate)
                         : coordinate;
      }
      if (!mapped.row)
        mapped.row = math.constant(0);
    }
  }
  if (innerElements == 1 && columns != 1) {
    mapped.lane = false;
    mapped.offset = 0;
  } else if (innerElements != columns) {
    return failure();
  }
  operands.push_back({0, mapped});
  return success();
}

static LogicalResult mapSlice(OpBuilder *builder, stablehlo::SliceOp op,
                              const RowView &view,
                              SmallVectorImpl<OperandView> &operands) {
  ArrayRef<int64_t> from = getShape(op.getOperand()),
                    to = getShape(op.getResult()), start = op.getStartIndices(),
                    stride = op.getStrides();
  if (from == to) {
    operands.push_back({0, view});
    return success();
  }
  int64_t split = getSplit(to, view.rows);
  if (split < 0)
    return failure();
  RowMath math{builder, op.getLoc()};
  RowView mapped = view;
  mapped.rows = product(from.take_front(split));
  if (from.take_front(split) != to.take_front(split)) {
    mapped.identity = false;
    SmallVector<Value> coordinates = math.split(view.row, to.take_front(split));
    if (builder) {
      mapped.row = math.constant(0);
      for (int64_t i = 0; i < split; ++i) {
        Value coordinate = math.scaleAndAdd(coordinates[i], stride[i],
                                            math.constant(start[i]));
        mapped.row = math.scaleAndAdd(mapped.row, from[i], coordinate);
      }
    }
  }
  bool inRun = false;
  for (size_t i = split; i < to.size(); ++i) {
    int64_t step = product(from.drop_front(i + 1));
    mapped.offset += start[i] * step;
    if (to[i] == 1 && !inRun)
      continue;
    if (inRun ? to[i] != from[i] : stride[i] != 1)
      return failure();
    inRun = true;
  }
  operands.push_back({0, mapped});
  return success();
}

/// The number of elements of one step along `dim`, when that is the outermost
/// dimension of the columns; else -1.
static int64_t getColumnStep(ArrayRef<int64_t> shape, int64_t rows,
                             int64_t dim) {
  int64_t split = getSplit(shape, rows);
  if (split < 0 || dim < split || product(shape.slice(split, dim - split)) != 1)
    return -1;
  return product(shape.drop_front(dim + 1));
}

/// Reports the part [begin, end) of the result's columns that comes from an
/// operand, when it is touched.
static void mapPart(const RowView &view, int64_t low, int64_t high,
                    int64_t begin, int64_t end, unsigned operand,
                    std::optional<RowView> fixed,
                    SmallVectorImpl<OperandView> &operands,
                    SmallVectorImpl<int64_t> *cuts) {
  if (!view.lane) {
    low = 0;
    high = 1;
  }
  if (begin >= high + view.offset || end <= low + view.offset)
    return;
  int64_t cut = end - view.offset;
  if (cuts && cut > low && cut < high)
    cuts->push_back(cut);
  RowView mapped = view;
  mapped.offset -= begin;
  operands.push_back({operand, fixed.value_or(mapped)});
}

LogicalResult pipemesh::mapOperandViews(OpBuilder *builder, Operation *op,
                                        const RowView &view, int64_t low,
                                        int64_t high,
                                        SmallVectorImpl<OperandView> &operands,
                                        SmallVectorImpl<int64_t> *cuts) {
  int64_t elements = getNumElements(op->getResult(0));
  if (elements % view.rows)
    return failure();
  if (op->hasTrait<stablehlo::Elementwise>()) {
    for (OpOperand &operand : op->getOpOperands()) {
      RowView mapped = view;
      if (elements != 1 && getNumElements(operand.get()) == 1) {
        mapped = RowView::uniform(view.identity && view.rows == 1);
        if (builder)
          mapped.row = RowMath{builder, op->getLoc()}.constant(0);
      }
      operands.push_back({operand.getOperandNumber(), mapped});
    }
    return success();
  }
  if (isa<stablehlo::ReshapeOp>(op)) {
    operands.push_back({0, view});
    return success();
  }
  if (isa<stablehlo::ConstantOp, pm::AxisIndexOp>(op))
    return success();
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
    ArrayRef<int64_t> shape = getShape(iota);
    int64_t split = getSplit(shape, view.rows), dim = iota.getIotaDimension();
    return success(split >= 0 &&
                   (dim < split || getColumnStep(shape, view.rows, dim) == 1));
  }
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return mapBroadcast(builder, broadcast, view, operands);
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    return mapSlice(builder, slice, view, operands);
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op)) {
    int64_t dim = concatenate.getDimension(), begin = 0;
    int64_t step = getColumnStep(getShape(concatenate), view.rows, dim);
    if (step < 0)
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      int64_t end = begin + getShape(operand.get())[dim] * step;
      mapPart(view, low, high, begin, end, operand.getOperandNumber(),
              std::nullopt, operands, cuts);
      begin = end;
    }
    return success();
  }
  if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
    ArrayRef<int64_t> before = pad.getEdgePaddingLow(),
                      after = pad.getEdgePaddingHigh(),
                      from = getShape(pad.getOperand()),
                      to = getShape(pad.getResult());
    int64_t padded = -1;
    for (size_t i = 0; i < from.size(); ++i) {
      if (pad.getInteriorPadding()[i] || before[i] < 0 || after[i] < 0)
        return failure();
      if (!before[i] && !after[i])
        continue;
      if (padded >= 0)
        return failure();
      padded = i;
    }
    if (padded < 0) {
      operands.push_back({0, view});
      return success();
    }
    int64_t step = getColumnStep(to, view.rows, padded);
    if (step < 0)
      return failure();
    RowView value = RowView::uniform(false);
    if (builder)
      value.row = RowMath{builder, op->getLoc()}.constant(0);
    int64_t begin = before[padded] * step, end = begin + from[padded] * step;
    if (begin)
      mapPart(view, low, high, 0, begin, 1, value, operands, cuts);
    mapPart(view, low, high, begin, end, 0, std::nullopt, operands, cuts);
    if (after[padded])
      mapPart(view, low, high, end, to[padded] * step, 1, value, operands,
              cuts);
    return success();
  }
  return failure();
}

FailureOr<SimpleReduction> pipemesh::matchReduction(Operation *op) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  if (!reduce || reduce.getInputs().size() != 1)
    return failure();
  SimpleReduction reduction;
  reduction.op = reduce;
  reduction.combiner = reduce.getAppliedOp();
  if (!reduction.combiner ||
      !isa<stablehlo::AddOp, stablehlo::MulOp, stablehlo::MaxOp,
           stablehlo::MinOp, stablehlo::AndOp, stablehlo::OrOp>(
          reduction.combiner))
    return failure();
  // A wider result is added up in its own type.
  if (getElementTypeOrSelf(reduce.getInputs()[0].getType()) !=
      getElementTypeOrSelf(reduce.getResult(0).getType()))
    return failure();
  ArrayRef<int64_t> shape = getShape(reduce.getInputs()[0]);
  llvm::SmallDenseSet<int64_t> reduced(reduce.getDimensions().begin(),
                                       reduce.getDimensions().end());
  int64_t lastKept = -1, firstReduced = shape.size(), lastReduced = -1,
          firstKept = shape.size();
  for (int64_t i = 0, e = shape.size(); i < e; ++i) {
    if (shape[i] == 1)
      continue;
    if (reduced.contains(i)) {
      reduction.reducedElements *= shape[i];
      firstReduced = std::min(firstReduced, i);
      lastReduced = i;
    } else {
      reduction.keptElements *= shape[i];
      firstKept = std::min(firstKept, i);
      lastKept = i;
    }
  }
  reduction.trailing = lastKept < firstReduced;
  reduction.leading = lastReduced < firstKept;
  return reduction;
}
