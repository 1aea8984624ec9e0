//===- RowKernel.cpp - loops of kernels over rows and columns -------------===//
//
// The loops of a processor with vector registers: rows one after the other,
// vectors of columns inside.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace pipemesh;

namespace {

class CpuRowEmitter : public RowEmitter {
public:
  using RowEmitter::RowEmitter;

  LogicalResult emit(KernelInfo &info);

private:
  void emitRows();
  void emitFlat();
  void emitColumnBlocks();
  void emitColumnLoop(const ColumnLoop &loop);
  void emitStrip(Value firstColumn, unsigned stripWidth, unsigned count);
  unsigned getUnroll(const ColumnLoop &loop) const;
};

/// Enough independent accumulators to hide the latency of an addition, fewer
/// where the registers are needed by a function's polynomial.
unsigned CpuRowEmitter::getUnroll(const ColumnLoop &loop) const {
  if (loop.reductions.empty())
    return 1;
  bool heavy = false;
  for (Operation *op : body.ops)
    heavy |= isa<stablehlo::ExpOp, stablehlo::LogOp, stablehlo::TanhOp,
                 stablehlo::LogisticOp>(op);
  return heavy || loop.reductions.size() > 2 ? 2 : 4;
}

void CpuRowEmitter::emitColumnLoop(const ColumnLoop &loop) {
  OpBuilder &builder = code.builder;
  level = loop.level;
  unsigned vectorWidth = code.vectorWidth, unroll = getUnroll(loop);
  unsigned numReductions = loop.reductions.size();

  // Accumulators: for each reduction `unroll` vectors, and a scalar for the
  // columns behind the last whole vector.
  SmallVector<Value> vectors, scalars;
  for (Operation *op : loop.reductions) {
    Value neutral = emitNeutral(op);
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
    setReduction(op, sum);
  }
}

void CpuRowEmitter::emitRows() {
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

void CpuRowEmitter::emitFlat() {
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
void CpuRowEmitter::emitStrip(Value firstColumn, unsigned stripWidth,
                           unsigned count) {
  const ColumnLoop &loop = plan.loops[0];
  SmallVector<Value> accumulators;
  for (Operation *op : loop.reductions) {
    Value neutral = emitNeutral(op);
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

void CpuRowEmitter::emitColumnBlocks() {
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

LogicalResult CpuRowEmitter::emit(KernelInfo &info) {
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
  return CpuRowEmitter(code, body, plan).emit(info);
}
