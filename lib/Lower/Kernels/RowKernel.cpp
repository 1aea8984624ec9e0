//===- RowKernel.cpp - code of kernels over rows and columns --------------===//
//
// Values are computed on demand, from the outputs and the reductions back to
// the operands, at one of three places: what is the same for all rows in front
// of the loop over rows, what is one element a row in front of the row's loops
// over columns, and the rest inside these, a vector of columns at a time.
//
//===----------------------------------------------------------------------===//

#include "KernelCode.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace {

class RowEmitter {
public:
  RowEmitter(KernelCode &code, const KernelBody &body, const KernelPlan &plan)
      : code(code), body(body), plan(plan) {}

  LogicalResult emit(KernelInfo &info);

private:
  KernelCode &code;
  const KernelBody &body;
  const KernelPlan &plan;

  using Key = std::tuple<void *, int64_t, int64_t, void *>;
  using Memo = std::map<Key, Value>;
  Memo uniformMemo, rowMemo, laneMemo;
  llvm::DenseMap<Operation *, Value> tables;

  /// Ops in front of which values of a row (of the kernel) are placed; null
  /// when the builder already stands there.
  Operation *rowAnchor = nullptr, *uniformAnchor = nullptr;
  Value zero, row;
  /// The first of the present columns, and how many there are.
  Value column;
  unsigned width = 1;
  /// The columns of the present part of a loop, where concatenations are
  /// resolved.
  int64_t low = 0, high = 0;
  unsigned level = 0;
  bool failed = false;

  RowView identityView(bool lane) const {
    return RowView{plan.rows, lane, 0, true, row};
  }

  Value emitValue(Value value, RowView view);
  Value emitOp(Operation *op, const RowView &view);
  Value emitIota(stablehlo::IotaOp op, const RowView &view);
  Value loadFrom(Value pointer, Value value, const RowView &view);
  Value getTable(stablehlo::ConstantOp op);
  void storeOutput(unsigned index, Value value, bool lane);

  void emitRows();
  void emitFlat();
  void emitColumnBlocks();
  void emitColumnLoop(const ColumnLoop &loop);
  void emitStrip(Value firstColumn, unsigned stripWidth, unsigned count);
  unsigned getUnroll(const ColumnLoop &loop) const;
  Value combine(Operation *reduction, Value a, Value b, unsigned vectorWidth);
  Value finishReduction(Operation *reduction, Value value);
};

Value RowEmitter::loadFrom(Value pointer, Value value, const RowView &view) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t columns = getNumElements(value) / view.rows;
  Value address = pointer;
  {
    // The address of the row belongs to the row.
    OpBuilder::InsertionGuard guard(code.builder);
    if (view.lane && rowAnchor)
      code.builder.setInsertionPoint(rowAnchor);
    if (view.rows != 1)
      address = code.address(pointer, element, code.mul(view.row, columns));
    if (view.offset)
      address = code.address(address, element, view.offset);
  }
  if (view.lane)
    address = code.address(address, element, column);
  return code.load(address, element, view.lane ? width : 1);
}

Value RowEmitter::getTable(stablehlo::ConstantOp op) {
  Value &table = tables[op];
  if (!table)
    table = code.constantTable(op);
  return table;
}

Value RowEmitter::emitIota(stablehlo::IotaOp op, const RowView &view) {
  OpBuilder &builder = code.builder;
  RankedTensorType type = op.getOutput().getType();
  int64_t dim = op.getIotaDimension(), inner = 1;
  for (int64_t i = type.getRank() - 1; i > dim; --i)
    inner *= type.getDimSize(i);
  Type element = getRegisterType(type.getElementType());
  int64_t columns = type.getNumElements() / view.rows;
  Value position;
  bool lane = false;
  if (inner >= columns) {
    // One of the row's coordinates.
    position = arith::DivUIOp::create(builder, code.loc, view.row,
                                      code.index(inner / columns));
    position = arith::RemUIOp::create(builder, code.loc, position,
                                      code.index(type.getDimSize(dim)));
  } else if (view.lane) {
    lane = width > 1;
    position = code.add(column, view.offset);
  } else {
    position = code.index(view.offset);
  }
  // Half precision counts in i32.
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isNarrowFloat = isa<FloatType>(element) && bits < 32;
  if (isNarrowFloat)
    bits = 32;
  Type integer = builder.getIntegerType(bits);
  if (bits < 64)
    position = arith::TruncIOp::create(builder, code.loc, integer, position);
  if (view.lane && width > 1)
    position = code.splat(position, width);
  if (lane) {
    auto vectorType = VectorType::get({width}, integer);
    SmallVector<APInt> steps;
    for (unsigned i = 0; i < width; ++i)
      steps.push_back(APInt(bits, i));
    Value step = arith::ConstantOp::create(
        builder, code.loc, DenseElementsAttr::get(vectorType, steps));
    position = code.add(position, step);
  }
  if (isNarrowFloat) {
    unsigned lanes = view.lane ? width : 1;
    Type single = getVectorType(builder.getF32Type(), lanes);
    position = arith::UIToFPOp::create(builder, code.loc, single, position);
    return arith::TruncFOp::create(builder, code.loc,
                                   getVectorType(element, lanes), position);
  }
  if (isa<FloatType>(element))
    position = arith::UIToFPOp::create(
        builder, code.loc, getVectorType(element, view.lane ? width : 1),
        position);
  return position;
}

Value RowEmitter::emitOp(Operation *op, const RowView &view) {
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
    return emitIota(iota, view);
  if (Value scalar = emitScalarSource(code, op))
    return view.lane ? code.splat(scalar, width) : scalar;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return loadFrom(getTable(constant), constant.getOutput(), view);
  SmallVector<OperandView> views;
  {
    OpBuilder::InsertionGuard guard(code.builder);
    if (view.lane && rowAnchor)
      code.builder.setInsertionPoint(rowAnchor);
    if (mlir::failed(
            mapOperandViews(&code.builder, op, view, low, high, views)))
      return {};
  }
  SmallVector<Value> operands;
  for (const OperandView &operand : views) {
    Value value = emitValue(op->getOperand(operand.operand), operand.view);
    if (!value)
      return {};
    if (view.lane && !operand.view.lane)
      value = code.splat(value, width);
    operands.push_back(value);
  }
  if (op->hasTrait<stablehlo::Elementwise>())
    return emitElementwise(code.builder, op, operands, view.lane ? width : 1);
  return operands.size() == 1 ? operands[0] : Value();
}

Value RowEmitter::emitValue(Value value, RowView view) {
  bool uniform = view.rows == 1 && !view.lane;
  if (uniform)
    view.row = zero;
  Memo &memo = view.lane ? laneMemo : uniform ? uniformMemo : rowMemo;
  Key key{value.getAsOpaquePointer(), view.rows, view.offset,
          view.row ? view.row.getAsOpaquePointer() : nullptr};
  auto it = memo.find(key);
  if (it != memo.end())
    return it->second;
  OpBuilder::InsertionGuard guard(code.builder);
  if (uniform && uniformAnchor)
    code.builder.setInsertionPoint(uniformAnchor);
  else if (!view.lane && rowAnchor)
    code.builder.setInsertionPoint(rowAnchor);
  Value result;
  if (!body.defines(value)) {
    result = loadFrom(code.inputs.lookup(value), value, view);
  } else if (view.lane && view.identity && view.offset == 0 &&
             plan.kind == KernelPlan::Rows &&
             llvm::is_contained(body.outputs, value) &&
             plan.levels.lookup(value.getDefiningOp()) < level) {
    unsigned output = llvm::find(body.outputs, value) - body.outputs.begin();
    result = loadFrom(code.results[output], value, view);
  } else {
    result = emitOp(value.getDefiningOp(), view);
  }
  if (!result && !failed) {
    failed = true;
    value.getDefiningOp()->emitError("has no code for a kernel on these types");
  }
  return memo[key] = result;
}

void RowEmitter::storeOutput(unsigned index, Value value, bool lane) {
  Value output = body.outputs[index];
  Type element = cast<RankedTensorType>(output.getType()).getElementType();
  int64_t columns = getNumElements(output) / plan.rows;
  Value place = plan.rows == 1 ? Value() : code.mul(row, columns);
  if (lane)
    place = place ? code.add(place, column) : column;
  Value address = code.results[index];
  if (place)
    address = code.address(address, element, place);
  code.store(value, address, element);
}

Value RowEmitter::combine(Operation *reduction, Value a, Value b,
                          unsigned vectorWidth) {
  Operation *combiner = matchReduction(reduction)->combiner;
  return emitElementwise(code.builder, combiner, {a, b}, vectorWidth);
}

/// Joins the initial value, unless it is neutral.
Value RowEmitter::finishReduction(Operation *reduction, Value value) {
  auto op = cast<stablehlo::ReduceOp>(reduction);
  Operation *combiner = matchReduction(reduction)->combiner;
  Value init = op.getInitValues()[0];
  Type element = cast<RankedTensorType>(init.getType()).getElementType();
  if (auto constant = init.getDefiningOp<stablehlo::ConstantOp>()) {
    auto splat = dyn_cast<DenseElementsAttr>(constant.getValue());
    TypedAttr neutral = getNeutralElement(combiner, element);
    if (splat && splat.isSplat()) {
      if (auto floatAttr = dyn_cast<FloatAttr>(neutral)) {
        if (floatAttr.getValue() == splat.getSplatValue<APFloat>())
          return value;
      } else if (cast<IntegerAttr>(neutral).getValue() ==
                 splat.getSplatValue<APInt>()) {
        return value;
      }
    }
  }
  Value start = emitValue(init, RowView::uniform(false));
  return start ? combine(reduction, value, start, 1) : Value();
}

/// Enough independent accumulators to hide the latency of an addition, fewer
/// where the registers are needed by a function's polynomial.
unsigned RowEmitter::getUnroll(const ColumnLoop &loop) const {
  if (loop.reductions.empty())
    return 1;
  bool heavy = false;
  for (Operation *op : body.ops)
    heavy |= isa<stablehlo::ExpOp, stablehlo::LogOp, stablehlo::TanhOp,
                 stablehlo::LogisticOp>(op);
  return heavy || loop.reductions.size() > 2 ? 2 : 4;
}

void RowEmitter::emitColumnLoop(const ColumnLoop &loop) {
  OpBuilder &builder = code.builder;
  level = loop.level;
  unsigned vectorWidth = code.vectorWidth, unroll = getUnroll(loop);
  unsigned numReductions = loop.reductions.size();

  // Accumulators: for each reduction `unroll` vectors, and a scalar for the
  // columns behind the last whole vector.
  SmallVector<Value> vectors, scalars;
  for (Operation *op : loop.reductions) {
    Type element =
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    Value neutral = arith::ConstantOp::create(
        builder, code.loc,
        getNeutralElement(matchReduction(op)->combiner, element));
    scalars.push_back(neutral);
    vectors.append(unroll, code.splat(neutral, vectorWidth));
  }

  auto step = [&](Value first, unsigned count, unsigned stepWidth,
                  MutableArrayRef<Value> accumulators, unsigned stride) {
    width = stepWidth;
    for (unsigned u = 0; u < count; ++u) {
      column = code.add(first, u * stepWidth);
      laneMemo.clear();
      SmallVector<Value> roots;
      for (Operation *op : loop.reductions)
        roots.push_back(emitValue(op->getOperand(0), identityView(true)));
      for (unsigned output : loop.outputs)
        roots.push_back(emitValue(body.outputs[output], identityView(true)));
      if (failed)
        return;
      for (unsigned i = 0; i < numReductions; ++i)
        accumulators[i * stride + u] =
            combine(loop.reductions[i], accumulators[i * stride + u], roots[i],
                    stepWidth);
      for (auto [i, output] : llvm::enumerate(loop.outputs))
        storeOutput(output, roots[numReductions + i], true);
    }
  };

  auto run = [&](int64_t first, int64_t last, unsigned count,
                 unsigned stepWidth, SmallVector<Value> &accumulators,
                 unsigned stride) {
    if (first >= last || failed)
      return;
    accumulators =
        code.loop(code.index(first), code.index(last), count * stepWidth,
                  accumulators, [&](Value i, ValueRange carried) {
                    llvm::SaveAndRestore<Operation *> anchor(
                        rowAnchor, builder.getInsertionBlock()->getParentOp());
                    SmallVector<Value> next(carried);
                    step(i, count, stepWidth, next, stride);
                    return next;
                  });
  };

  SmallVector<int64_t> bounds{0};
  bounds.append(loop.cuts.begin(), loop.cuts.end());
  bounds.push_back(loop.columns);
  for (size_t part = 0; part + 1 < bounds.size(); ++part) {
    low = bounds[part];
    high = bounds[part + 1];
    int64_t wide =
        low + (high - low) / (vectorWidth * unroll) * (vectorWidth * unroll);
    int64_t whole = low + (high - low) / vectorWidth * vectorWidth;
    run(low, wide, unroll, vectorWidth, vectors, unroll);
    run(wide, whole, 1, vectorWidth, vectors, unroll);
    run(whole, high, 1, 1, scalars, 1);
  }
  laneMemo.clear();
  if (failed)
    return;
  for (auto [i, op] : llvm::enumerate(loop.reductions)) {
    MutableArrayRef<Value> sums =
        MutableArrayRef<Value>(vectors).slice(i * unroll, unroll);
    for (unsigned distance = unroll / 2; distance; distance /= 2)
      for (unsigned u = 0; u < distance; ++u)
        sums[u] = combine(op, sums[u], sums[u + distance], vectorWidth);
    Value sum = emitHorizontal(builder, matchReduction(op)->combiner, sums[0]);
    sum = finishReduction(op, combine(op, sum, scalars[i], 1));
    RowView view = identityView(false);
    bool uniform = plan.rows == 1;
    Key key{op->getResult(0).getAsOpaquePointer(), view.rows, 0,
            (uniform ? zero : row).getAsOpaquePointer()};
    (uniform ? uniformMemo : rowMemo)[key] = sum;
  }
}

void RowEmitter::emitRows() {
  OpBuilder &builder = code.builder;
  code.loop(code.begin, code.end, 1, {}, [&](Value i, ValueRange) {
    row = i;
    rowMemo.clear();
    // With one row, what is the same for all rows may depend on a reduction,
    // and belongs to the row.
    if (plan.rows != 1)
      uniformAnchor = builder.getInsertionBlock()->getParentOp();
    for (const ColumnLoop &loop : plan.loops) {
      emitColumnLoop(loop);
      if (failed)
        return SmallVector<Value>();
    }
    level = ~0u;
    // All are computed before the first is stored: one may lie in the place of
    // an operand that another reads.
    SmallVector<Value> values;
    for (unsigned output : plan.rowOutputs)
      values.push_back(emitValue(body.outputs[output], identityView(false)));
    if (!failed)
      for (auto [output, value] : llvm::zip(plan.rowOutputs, values))
        storeOutput(output, value, false);
    return SmallVector<Value>();
  });
}

void RowEmitter::emitFlat() {
  OpBuilder &builder = code.builder;
  const ColumnLoop &loop = plan.loops[0];
  int64_t elements = loop.columns;
  high = elements;
  row = zero;
  code.loop(code.begin, code.end, 1, {}, [&](Value block, ValueRange) {
    uniformAnchor = builder.getInsertionBlock()->getParentOp();
    Value first = code.mul(block, kFlatBlock);
    Value last =
        code.minimum(code.add(first, kFlatBlock), code.index(elements));
    Value whole = last;
    unsigned vectorWidth = code.vectorWidth;
    if (elements % vectorWidth) {
      Value mask = code.index(-static_cast<int64_t>(vectorWidth));
      whole = arith::AndIOp::create(builder, code.loc, last, mask);
    }
    auto run = [&](Value from, Value to, unsigned stepWidth) {
      code.loop(from, to, stepWidth, {}, [&](Value i, ValueRange) {
        llvm::SaveAndRestore<Operation *> anchor(
            rowAnchor, builder.getInsertionBlock()->getParentOp());
        column = i;
        width = stepWidth;
        laneMemo.clear();
        SmallVector<Value> values;
        for (unsigned output : loop.outputs)
          values.push_back(emitValue(body.outputs[output], identityView(true)));
        if (!failed)
          for (auto [output, value] : llvm::zip(loop.outputs, values))
            storeOutput(output, value, true);
        return SmallVector<Value>();
      });
    };
    run(first, whole, vectorWidth);
    if (!failed && elements % vectorWidth)
      run(whole, last, 1);
    return SmallVector<Value>();
  });
}

/// Sums `count` vectors of columns over all rows.
void RowEmitter::emitStrip(Value firstColumn, unsigned stripWidth,
                           unsigned count) {
  OpBuilder &builder = code.builder;
  const ColumnLoop &loop = plan.loops[0];
  SmallVector<Value> accumulators;
  for (Operation *op : loop.reductions) {
    Type element =
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    Value neutral = arith::ConstantOp::create(
        builder, code.loc,
        getNeutralElement(matchReduction(op)->combiner, element));
    accumulators.append(count, code.splat(neutral, stripWidth));
  }
  width = stripWidth;
  accumulators =
      code.loop(code.index(0), code.index(plan.rows), 1, accumulators,
                [&](Value i, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  row = i;
                  rowMemo.clear();
                  for (unsigned u = 0; u < count && !failed; ++u) {
                    column = code.add(firstColumn, u * stripWidth);
                    laneMemo.clear();
                    for (auto [index, op] : llvm::enumerate(loop.reductions)) {
                      Value value =
                          emitValue(op->getOperand(0), identityView(true));
                      if (failed)
                        break;
                      Value &sum = next[index * count + u];
                      sum = combine(op, sum, value, stripWidth);
                    }
                  }
                  return next;
                });
  if (failed)
    return;
  rowMemo.clear();
  laneMemo.clear();
  for (auto [index, op] : llvm::enumerate(loop.reductions)) {
    Type element =
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    Value init = op->getOperand(1);
    Value start = emitValue(init, RowView::uniform(false));
    if (failed)
      return;
    for (unsigned u = 0; u < count; ++u) {
      Value sum = combine(op, accumulators[index * count + u],
                          code.splat(start, stripWidth), stripWidth);
      for (auto [output, value] : llvm::enumerate(body.outputs))
        if (value == op->getResult(0))
          code.store(sum,
                     code.address(code.results[output], element,
                                  code.add(firstColumn, u * stripWidth)),
                     element);
    }
  }
}

void RowEmitter::emitColumnBlocks() {
  OpBuilder &builder = code.builder;
  int64_t columns = plan.columns;
  unsigned vectorWidth = code.vectorWidth;
  // Half of the vector registers hold sums.
  unsigned count = std::max<unsigned>(
      1, std::min<unsigned>(8 / plan.loops[0].reductions.size(),
                            kColumnBlock / vectorWidth));
  high = columns;
  code.loop(code.begin, code.end, 1, {}, [&](Value block, ValueRange) {
    uniformAnchor = builder.getInsertionBlock()->getParentOp();
    Value first = code.mul(block, kColumnBlock);
    Value last =
        code.minimum(code.add(first, kColumnBlock), code.index(columns));
    auto run = [&](Value from, Value to, unsigned stepWidth, unsigned steps) {
      if (failed)
        return;
      code.loop(from, to, stepWidth * steps, {}, [&](Value i, ValueRange) {
        emitStrip(i, stepWidth, steps);
        return SmallVector<Value>();
      });
    };
    auto roundDown = [&](int64_t size) -> Value {
      Value length = arith::SubIOp::create(builder, code.loc, last, first);
      Value rest =
          arith::RemUIOp::create(builder, code.loc, length, code.index(size));
      return arith::SubIOp::create(builder, code.loc, last, rest);
    };
    Value wide = roundDown(vectorWidth * count);
    run(first, wide, vectorWidth, count);
    Value whole = wide;
    if (columns % (vectorWidth * count)) {
      whole = roundDown(vectorWidth);
      run(wide, whole, vectorWidth, 1);
    }
    if (columns % vectorWidth)
      run(whole, last, 1, 1);
    return SmallVector<Value>();
  });
}

LogicalResult RowEmitter::emit(KernelInfo &info) {
  zero = code.index(0);
  row = zero;
  switch (plan.kind) {
  case KernelPlan::Flat:
    info.extent = llvm::divideCeil(plan.loops[0].columns, kFlatBlock);
    emitFlat();
    break;
  case KernelPlan::Columns:
    info.extent = llvm::divideCeil(plan.columns, kColumnBlock);
    emitColumnBlocks();
    break;
  default:
    info.extent = plan.rows;
    emitRows();
  }
  return failure(failed);
}

} // namespace

LogicalResult pipemesh::emitRowKernel(KernelCode &code, const KernelBody &body,
                                      const KernelPlan &plan,
                                      KernelInfo &info) {
  return RowEmitter(code, body, plan).emit(info);
}
