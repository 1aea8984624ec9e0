//===- GpuRowKernel.cpp - loops of a GPU over rows and columns ------------===//
//
// A row belongs to a team of threads: to a warp, or to a block where it is wide.
// Each thread takes a vector of columns of every so many; sums go through the
// warp's exchanges, and through shared memory between warps, in an order that is
// fixed. Sums over all rows belong to a block for each 32 columns, whose warps
// take rows in turn.
//
//===----------------------------------------------------------------------===//

#include "../Kernels/RowEmitter.h"
#include "../Kernels/ScalarOps.h"
#include "GpuCode.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;

namespace {

class GpuRowEmitter : public RowEmitter {
public:
  GpuRowEmitter(GpuCode &code, const KernelBody &body, const KernelPlan &plan)
      : RowEmitter(code, body, plan), gpu(code), builder(code.builder) {}

  LogicalResult emit(KernelInfo &info);

private:
  GpuCode &gpu;
  OpBuilder &builder;
  /// Threads of a team, and elements that each of them takes at once.
  int64_t team = 1, vectorWidth = 1;
  /// The thread's number in its team.
  Value member;

  unsigned getAlignment(int64_t pitch, int64_t offset,
                        unsigned vectorBytes) const override;
  int64_t getVectorWidth() const;
  void emitFlat();
  void emitRows();
  void emitColumns();
  void emitColumnLoop(const ColumnLoop &loop, bool isLast);
  void emitPart(const ColumnLoop &loop, int64_t first, int64_t last,
                int64_t partWidth, MutableArrayRef<Value> sums);
  Value reduceTeam(Operation *reduction, Value value);
  /// The members wait for each other, and see what they wrote. Not for teams
  /// that share a warp.
  void synchronize() {
    assert(team >= kWarp && "teams of a warp may be at different places");
    team == kWarp ? gpu.warpBarrier() : gpu.barrier();
  }
};

/// Half precision fills an access with twice the elements.
int64_t GpuRowEmitter::getVectorWidth() const {
  int64_t widest = 0;
  auto visit = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getNumElements() > plan.rows)
      widest = std::max<int64_t>(widest, getElementBytes(type.getElementType()));
  };
  for (Value output : body.outputs)
    visit(output);
  for (Operation *op : body.ops)
    for (Value operand : op->getOperands())
      if (!body.defines(operand))
        visit(operand);
  return widest == 0 ? 4
                     : std::min<int64_t>(8, std::max<int64_t>(
                                                1, kAccessBytes / widest));
}

unsigned GpuRowEmitter::getAlignment(int64_t pitch, int64_t offset,
                                     unsigned vectorBytes) const {
  if (width == 1)
    return 0;
  int64_t common = std::gcd<int64_t>(kAccessBytes, vectorBytes);
  common = std::gcd(common, pitch);
  return std::gcd(common, offset);
}

void GpuRowEmitter::emitFlat() {
  const ColumnLoop &loop = plan.loops[0];
  int64_t elements = loop.columns;
  high = elements;
  row = zero;
  gpu.threads = elements >= 1 << 16 ? 256 : kBlockThreads;
  gpu.blocks = llvm::divideCeil(elements, gpu.threads * vectorWidth);
  Value first = gpu.mul(gpu.globalThread(), vectorWidth);
  auto store = [&](Value at, unsigned count) {
    column = at;
    width = count;
    laneMemo.clear();
    SmallVector<Value> values;
    for (unsigned output : loop.outputs)
      values.push_back(emitValue(body.outputs[output], identityView(true)));
    if (!failed)
      for (auto [output, value] : llvm::zip(loop.outputs, values))
        storeOutput(output, value, true);
  };
  auto guard = [&](Value predicate, llvm::function_ref<void()> inside) {
    auto branch = scf::IfOp::create(builder, code.loc, predicate,
                                    /*withElseRegion=*/false);
    uniformMemo.clear();
    rowMemo.clear();
    uniformAnchor = rowAnchor = branch;
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    inside();
  };
  guard(gpu.isBelow(gpu.add(first, vectorWidth - 1), code.index(elements)),
        [&] { store(first, vectorWidth); });
  // The elements behind the last whole vector are the first threads'.
  int64_t rest = elements % vectorWidth;
  if (rest && !failed) {
    Value thread = gpu.globalThread();
    guard(gpu.isBelow(thread, code.index(rest)),
          [&] { store(gpu.add(thread, elements - rest), 1); });
  }
}

Value GpuRowEmitter::reduceTeam(Operation *reduction, Value value) {
  for (int64_t distance = 1; distance < std::min(team, kWarp); distance *= 2)
    value = combine(reduction, value, gpu.exchange(value, distance), 1);
  if (team <= kWarp)
    return value;
  Type element = cast<RankedTensorType>(reduction->getResult(0).getType())
                     .getElementType();
  int64_t warps = team / kWarp;
  Value parts = gpu.shared(element, warps);
  Value isFirst = arith::CmpIOp::create(
      builder, code.loc, arith::CmpIPredicate::eq,
      gpu.remainder(member, kWarp), code.index(0));
  code.when(isFirst, [&] {
    code.store(value,
               code.address(parts, element, gpu.divide(member, kWarp)),
               element);
  });
  gpu.barrier();
  // Each warp joins the parts by itself.
  Value sum = code.load(
      code.address(parts, element, gpu.remainder(member, warps)), element, 1);
  for (int64_t distance = 1; distance < warps; distance *= 2)
    sum = combine(reduction, sum, gpu.exchange(sum, distance), 1);
  return sum;
}

/// Columns [first, last), `partWidth` at a time.
void GpuRowEmitter::emitPart(const ColumnLoop &loop, int64_t first,
                             int64_t last, int64_t partWidth,
                             MutableArrayRef<Value> sums) {
  if (first >= last || failed)
    return;
  unsigned numReductions = loop.reductions.size();
  Value start = gpu.add(gpu.mul(member, partWidth), first);
  SmallVector<Value> carried(sums);
  carried = code.loop(
      start, code.index(last), team * partWidth, carried,
      [&](Value i, ValueRange values) {
        llvm::SaveAndRestore<Operation *> anchor(
            rowAnchor, builder.getInsertionBlock()->getParentOp());
        SmallVector<Value> next(values);
        column = i;
        width = partWidth;
        laneMemo.clear();
        SmallVector<Value> roots;
        for (Operation *op : loop.reductions)
          roots.push_back(emitValue(op->getOperand(0), identityView(true)));
        for (unsigned output : loop.outputs)
          roots.push_back(emitValue(body.outputs[output], identityView(true)));
        if (failed)
          return next;
        for (unsigned r = 0; r < numReductions; ++r)
          next[r] = combine(loop.reductions[r], next[r], roots[r], partWidth);
        for (auto [o, output] : llvm::enumerate(loop.outputs))
          storeOutput(output, roots[numReductions + o], true);
        return next;
      });
  llvm::copy(carried, sums.begin());
}

void GpuRowEmitter::emitColumnLoop(const ColumnLoop &loop, bool isLast) {
  level = loop.level;
  SmallVector<Value> vectors, scalars;
  for (Operation *op : loop.reductions) {
    Value neutral = emitNeutral(op);
    scalars.push_back(neutral);
    vectors.push_back(code.splat(neutral, vectorWidth));
  }
  SmallVector<int64_t> bounds{0};
  bounds.append(loop.cuts.begin(), loop.cuts.end());
  bounds.push_back(loop.columns);
  for (size_t part = 0; part + 1 < bounds.size(); ++part) {
    low = bounds[part];
    high = bounds[part + 1];
    int64_t whole = low;
    if (vectorWidth > 1 && low % vectorWidth == 0)
      whole = low + (high - low) / vectorWidth * vectorWidth;
    emitPart(loop, low, whole, vectorWidth,
             vectorWidth > 1 ? MutableArrayRef<Value>(vectors)
                             : MutableArrayRef<Value>(scalars));
    emitPart(loop, whole, high, 1, scalars);
  }
  laneMemo.clear();
  if (failed)
    return;
  for (auto [i, op] : llvm::enumerate(loop.reductions)) {
    Value sum = scalars[i];
    if (vectorWidth > 1)
      sum = combine(
          op, emitHorizontal(builder, matchReduction(op)->combiner, vectors[i]),
          sum, 1);
    setReduction(op, finishReduction(op, reduceTeam(op, sum)));
  }
  // A later loop may give what was stored here to another thread.
  if (!isLast && !loop.outputs.empty() && team >= kWarp)
    synchronize();
}

void GpuRowEmitter::emitRows() {
  bool reduces = llvm::any_of(plan.loops, [](const ColumnLoop &loop) {
    return !loop.reductions.empty();
  });
  // About four vectors a thread, at least a warp where its threads need each
  // other.
  int64_t vectors = llvm::divideCeil(plan.columns, vectorWidth);
  if (reduces || !plan.rowOutputs.empty() || vectors > kWarp) {
    team = kWarp;
    // With more threads there would be too few registers for many sums.
    while (team < 256 && team * 4 < vectors)
      team *= 2;
  } else {
    team = llvm::PowerOf2Ceil(vectors);
  }
  // Wider teams are blocks: shared memory and barriers are a block's.
  gpu.threads = team > kWarp ? team : kBlockThreads;
  int64_t teams = gpu.threads / team;
  gpu.blocks = llvm::divideCeil(plan.rows, teams);
  member = gpu.remainder(gpu.thread(), team);
  row = gpu.add(gpu.mul(gpu.block(), teams), gpu.divide(gpu.thread(), team));
  // Teams of whole warps come and go together; a block's only team always has a
  // row.
  OpBuilder::InsertionGuard insertion(builder);
  if (teams > 1) {
    auto guard = scf::IfOp::create(builder, code.loc,
                                   gpu.isBelow(row, code.index(plan.rows)),
                                   /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guard.thenBlock());
  }
  if (plan.rows == 1)
    row = zero;
  else
    uniformAnchor = code.index(0).getDefiningOp();
  for (auto [i, loop] : llvm::enumerate(plan.loops)) {
    emitColumnLoop(loop, i + 1 == plan.loops.size());
    if (failed)
      return;
  }
  level = ~0u;
  SmallVector<Value> values;
  for (unsigned output : plan.rowOutputs)
    values.push_back(emitValue(body.outputs[output], identityView(false)));
  if (failed || values.empty())
    return;
  // An output may lie in the place of an operand that the others still read.
  synchronize();
  Value isFirst = arith::CmpIOp::create(builder, code.loc,
                                        arith::CmpIPredicate::eq, member,
                                        code.index(0));
  code.when(isFirst, [&] {
    for (auto [output, value] : llvm::zip(plan.rowOutputs, values))
      storeOutput(output, value, false);
  });
}

void GpuRowEmitter::emitColumns() {
  constexpr int64_t rowsAtOnce = 16;
  const ColumnLoop &loop = plan.loops[0];
  gpu.threads = kWarp * rowsAtOnce;
  gpu.blocks = llvm::divideCeil(plan.columns, kWarp);
  high = plan.columns;
  width = 1;
  Value line = gpu.divide(gpu.thread(), kWarp);
  Value place = gpu.add(gpu.mul(gpu.block(), kWarp),
                        gpu.remainder(gpu.thread(), kWarp));
  Value isInside = gpu.isBelow(place, code.index(plan.columns));
  // Threads behind the last column sum the last one up, too.
  column = gpu.minimum(place, code.index(plan.columns - 1));
  uniformAnchor = code.index(0).getDefiningOp();
  SmallVector<Value> sums;
  for (Operation *op : loop.reductions)
    sums.push_back(emitNeutral(op));
  sums = code.loop(line, code.index(plan.rows), rowsAtOnce, sums,
                   [&](Value i, ValueRange carried) {
                     SmallVector<Value> next(carried);
                     row = i;
                     rowMemo.clear();
                     laneMemo.clear();
                     for (auto [r, op] : llvm::enumerate(loop.reductions)) {
                       Value value =
                           emitValue(op->getOperand(0), identityView(true));
                       if (failed)
                         break;
                       next[r] = combine(op, next[r], value, 1);
                     }
                     return next;
                   });
  if (failed)
    return;
  rowMemo.clear();
  laneMemo.clear();
  for (size_t r = 0; r < sums.size(); ++r) {
    Operation *op = loop.reductions[r];
    Type element = cast<RankedTensorType>(op->getResult(0).getType())
                       .getElementType();
    Value parts = gpu.shared(element, gpu.threads);
    auto partAt = [&](Value index) {
      return code.address(parts, element, index);
    };
    code.store(sums[r], partAt(gpu.thread()), element);
    gpu.barrier();
    for (int64_t distance = rowsAtOnce / 2; distance; distance /= 2) {
      code.when(gpu.isBelow(line, code.index(distance)), [&] {
        Value a = code.load(partAt(gpu.thread()), element, 1);
        Value b = code.load(partAt(gpu.add(gpu.thread(), distance * kWarp)),
                            element, 1);
        code.store(combine(op, a, b, 1), partAt(gpu.thread()), element);
      });
      gpu.barrier();
    }
    Value start = emitValue(op->getOperand(1), RowView::uniform(false));
    if (failed)
      return;
    Value isFirst = arith::CmpIOp::create(
        builder, code.loc, arith::CmpIPredicate::eq, line, code.index(0));
    code.when(code.both(isFirst, isInside), [&] {
      Value sum = code.load(partAt(gpu.thread()), element, 1);
      sum = combine(op, sum, start, 1);
      for (auto [output, value] : llvm::enumerate(body.outputs))
        if (value == op->getResult(0))
          code.store(sum, code.address(code.results[output], element, column),
                     element);
    });
  }
}

LogicalResult GpuRowEmitter::emit(KernelInfo &info) {
  zero = code.index(0);
  row = zero;
  vectorWidth = getVectorWidth();
  switch (plan.kind) {
  case KernelPlan::Flat:
    emitFlat();
    break;
  case KernelPlan::Columns:
    emitColumns();
    break;
  default:
    emitRows();
  }
  return failure(failed);
}

} // namespace

LogicalResult pipemesh::emitGpuRowKernel(KernelCode &code,
                                         const KernelBody &body,
                                         const KernelPlan &plan,
                                         KernelInfo &info) {
  return GpuRowEmitter(static_cast<GpuCode &>(code), body, plan).emit(info);
}
