//===- KernelPlan.cpp - the loops of a kernel -----------------------------===//

#include "KernelPlan.h"
#include "mlir/IR/TypeUtilities.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Lower/Kernels/LibraryProduct.h"
#include <numeric>

using namespace mlir;
using namespace pipemesh;

namespace {

/// A read of an operand.
struct Access {
  RowView view;
  unsigned level;
};

class Planner {
public:
  Planner(const KernelBody &body, int64_t rows) : body(body) {
    plan.rows = rows;
  }

  FailureOr<KernelPlan> planRows();
  FailureOr<KernelPlan> planColumns();

private:
  const KernelBody &body;
  KernelPlan plan;
  llvm::DenseMap<Value, SmallVector<Access>> accesses;
  llvm::DenseSet<Operation *> seenReductions;
  SmallVector<SimpleReduction> reductions;
  llvm::DenseSet<Value> stored;
  using Key = std::tuple<void *, int64_t, int64_t, int64_t, int64_t>;
  llvm::DenseSet<Key> seen;
  bool plain = true; // no column loop is cut

  unsigned getLevel(Value value);
  ColumnLoop &getLoop(unsigned level, int64_t columns);
  LogicalResult visit(Value value, const RowView &view, int64_t low,
                      int64_t high, unsigned level,
                      SmallVectorImpl<int64_t> &cuts);
  LogicalResult visitLoop(ColumnLoop &loop);
  void findInPlace();
};

unsigned Planner::getLevel(Value value) {
  if (!body.defines(value))
    return 0;
  Operation *op = value.getDefiningOp();
  auto it = plan.levels.find(op);
  if (it != plan.levels.end())
    return it->second;
  unsigned level = 0;
  for (Value operand : op->getOperands())
    level = std::max(level, getLevel(operand));
  if (isa<stablehlo::ReduceOp>(op))
    ++level;
  return plan.levels[op] = level;
}

ColumnLoop &Planner::getLoop(unsigned level, int64_t columns) {
  for (ColumnLoop &loop : plan.loops)
    if (loop.level == level && loop.columns == columns)
      return loop;
  ColumnLoop loop;
  loop.level = level;
  loop.columns = columns;
  auto *place = llvm::find_if(
      plan.loops, [&](const ColumnLoop &other) { return other.level > level; });
  return *plan.loops.insert(place, loop);
}

LogicalResult Planner::visit(Value value, const RowView &view, int64_t low,
                             int64_t high, unsigned level,
                             SmallVectorImpl<int64_t> &cuts) {
  int64_t elements = getNumElements(value);
  if (elements % view.rows)
    return failure();
  if (!body.defines(value)) {
    accesses[value].push_back({view, level});
    return success();
  }
  // What an earlier loop of this row stored is read back.
  if (view.lane && view.identity && view.offset == 0 &&
      stored.contains(value) && getLevel(value) < level)
    return success();
  Key key{value.getAsOpaquePointer(),
          view.rows * 4 + view.lane * 2 + view.identity, view.offset, low,
          high};
  if (!seen.insert(key).second)
    return success();
  Operation *op = value.getDefiningOp();
  if (isa<stablehlo::ReduceOp>(op)) {
    FailureOr<SimpleReduction> reduction = matchReduction(op);
    if (failed(reduction) || !reduction->trailing || view.lane || view.offset ||
        !view.identity || elements != plan.rows)
      return failure();
    if (seenReductions.insert(op).second)
      reductions.push_back(*reduction);
    return success();
  }
  SmallVector<OperandView> operands;
  if (failed(mapOperandViews(nullptr, op, view, low, high, operands, &cuts)))
    return failure();
  for (const OperandView &operand : operands)
    if (failed(visit(op->getOperand(operand.operand), operand.view, low, high,
                     level, cuts)))
      return failure();
  return success();
}

LogicalResult Planner::visitLoop(ColumnLoop &loop) {
  seen.clear();
  SmallVector<int64_t> cuts;
  RowView lane{plan.rows, true, 0, true, {}};
  for (Operation *op : loop.reductions)
    if (failed(
            visit(op->getOperand(0), lane, 0, loop.columns, loop.level, cuts)))
      return failure();
  for (unsigned output : loop.outputs)
    if (failed(visit(body.outputs[output], lane, 0, loop.columns, loop.level,
                     cuts)))
      return failure();
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  loop.cuts.assign(cuts.begin(), cuts.end());
  plain &= cuts.empty();
  return success();
}

FailureOr<KernelPlan> Planner::planRows() {
  int64_t rows = plan.rows;
  plan.kind = KernelPlan::Rows;
  SmallVector<int64_t> noCuts;
  RowView row{rows, false, 0, true, {}};
  RowView lane{rows, true, 0, true, {}};
  // First find all reductions, from the outputs back.
  for (auto [index, output] : llvm::enumerate(body.outputs)) {
    int64_t elements = getNumElements(output);
    if (elements % rows)
      return failure();
    int64_t columns = elements / rows;
    if (columns == 1) {
      plan.rowOutputs.push_back(index);
    } else {
      getLoop(getLevel(output), columns).outputs.push_back(index);
      stored.insert(output);
    }
    if (failed(visit(output, columns == 1 ? row : lane, 0, columns, 0, noCuts)))
      return failure();
  }
  for (size_t i = 0; i < reductions.size(); ++i) {
    SimpleReduction reduction = reductions[i];
    Value input = reduction.op.getInputs()[0];
    int64_t columns = getNumElements(input) / rows;
    getLoop(getLevel(input), columns).reductions.push_back(reduction.op);
    if (failed(visit(input, lane, 0, columns, 0, noCuts)) ||
        failed(visit(reduction.op.getInitValues()[0], RowView::uniform(false),
                     0, 1, 0, noCuts)))
      return failure();
  }
  // Then walk each loop for what it reads.
  accesses.clear();
  for (ColumnLoop &loop : plan.loops) {
    llvm::sort(loop.reductions, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    if (failed(visitLoop(loop)))
      return failure();
    plan.columns = std::max(plan.columns, loop.columns);
  }
  seen.clear();
  for (unsigned output : plan.rowOutputs)
    if (failed(visit(body.outputs[output], row, 0, 1, ~0u, noCuts)))
      return failure();
  if (rows == 1 && plan.loops.size() == 1 && plan.rowOutputs.empty() &&
      reductions.empty() && plain)
    plan.kind = KernelPlan::Flat;
  findInPlace();
  return plan;
}

/// An output may take over an operand's buffer when each element of it is read
/// by the same row, at the same column, not after the output is stored.
void Planner::findInPlace() {
  plan.inPlace.resize(body.outputs.size());
  for (auto [index, output] : llvm::enumerate(body.outputs)) {
    bool lane = getNumElements(output) != plan.rows;
    unsigned level = lane ? getLevel(output) : ~0u;
    // Loops of other widths on the same level read what this one has stored.
    if (lane && llvm::count_if(plan.loops, [&](const ColumnLoop &loop) {
                  return loop.level == level;
                }) > 1)
      continue;
    llvm::SetVector<Value> candidates;
    for (Operation *op : body.ops)
      for (Value operand : op->getOperands())
        if (!body.defines(operand) && operand.getType() == output.getType())
          candidates.insert(operand);
    for (Value operand : candidates) {
      auto it = accesses.find(operand);
      if (it == accesses.end())
        continue;
      if (llvm::all_of(it->second, [&](const Access &access) {
            return access.view.identity && access.view.lane == lane &&
                   access.view.offset == 0 && access.level <= level;
          }))
        plan.inPlace[index].push_back(operand);
    }
  }
}

FailureOr<KernelPlan> Planner::planColumns() {
  plan.kind = KernelPlan::Columns;
  plan.inPlace.resize(body.outputs.size());
  plan.rows = 0;
  SmallVector<int64_t> cuts;
  ColumnLoop loop;
  for (Value output : body.outputs) {
    if (!body.defines(output))
      return failure();
    FailureOr<SimpleReduction> reduction =
        matchReduction(output.getDefiningOp());
    if (failed(reduction) || !reduction->leading)
      return failure();
    if (plan.rows == 0) {
      plan.rows = reduction->reducedElements;
      plan.columns = reduction->keptElements;
    } else if (plan.rows != reduction->reducedElements ||
               plan.columns != reduction->keptElements) {
      return failure();
    }
    seenReductions.insert(reduction->op);
    loop.reductions.push_back(reduction->op);
  }
  RowView lane{plan.rows, true, 0, true, {}};
  for (Operation *op : loop.reductions) {
    if (failed(visit(op->getOperand(0), lane, 0, plan.columns, 0, cuts)) ||
        failed(
            visit(op->getOperand(1), RowView::uniform(false), 0, 1, 0, cuts)))
      return failure();
  }
  if (!cuts.empty() || !reductions.empty())
    return failure();
  loop.columns = plan.columns;
  plan.loops.push_back(loop);
  return plan;
}

} // namespace

bool pipemesh::isLibraryProduct(Operation *op) {
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  if (!dot)
    return false;
  Type type = getElementTypeOrSelf(dot.getLhs()),
       result = getElementTypeOrSelf(dot.getResult());
  if (getElementTypeOrSelf(dot.getRhs()) != type)
    return false;
  return result.isF32() ? type.isF32() || type.isF16() || type.isBF16()
                        : result == type && (type.isF16() || type.isBF16());
}

bool pipemesh::isWholeKernel(Operation *op) {
  if (isa<stablehlo::DotGeneralOp>(op))
    return !isLibraryProduct(op);
  if (isa<stablehlo::ReduceOp>(op))
    return failed(matchReduction(op));
  return isa<pm::AttentionOp, pm::AttentionGradOp, pm::EmbeddingOp,
             pm::EmbeddingGradOp, stablehlo::SortOp, stablehlo::ScatterOp,
             stablehlo::ReduceWindowOp, stablehlo::ConvolutionOp,
             stablehlo::RngBitGeneratorOp>(op);
}

bool pipemesh::hasElementCode(Operation *op) {
  if (op->hasTrait<stablehlo::Elementwise>())
    return true;
  if (isa<stablehlo::ReduceOp>(op))
    return succeeded(matchReduction(op));
  return isa<stablehlo::ConstantOp, stablehlo::IotaOp,
             stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
             stablehlo::TransposeOp, stablehlo::ReverseOp,
             stablehlo::ConcatenateOp, stablehlo::PadOp, stablehlo::SliceOp,
             stablehlo::DynamicSliceOp, stablehlo::DynamicUpdateSliceOp,
             stablehlo::GatherOp, stablehlo::BitcastConvertOp,
             pm::AxisIndexOp>(op);
}

/// Element by element; a reduction would be repeated for each reader, so it may
/// only be an output.
static FailureOr<KernelPlan> planElements(const KernelBody &body) {
  KernelPlan plan;
  plan.kind = KernelPlan::Elements;
  plan.inPlace.resize(body.outputs.size());
  if (body.outputs.empty())
    return failure();
  for (Value output : body.outputs)
    if (cast<RankedTensorType>(output.getType()).getShape() !=
        cast<RankedTensorType>(body.outputs[0].getType()).getShape())
      return failure();
  for (Operation *op : body.ops) {
    if (!hasElementCode(op))
      return failure();
    if (isa<stablehlo::ReduceOp>(op) &&
        !llvm::is_contained(body.outputs, op->getResult(0)))
      return failure();
  }
  plan.columns = getNumElements(body.outputs[0]);
  return plan;
}

/// Row counts worth trying: products of leading dimensions.
static SmallVector<int64_t> getRowCounts(const KernelBody &body) {
  int64_t divisor = 0;
  for (Value output : body.outputs)
    divisor = std::gcd(divisor, getNumElements(output));
  llvm::SmallSetVector<int64_t, 8> counts;
  for (Operation *op : body.ops) {
    int64_t count = 1;
    for (int64_t size :
         cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      if (divisor % (count *= size) == 0 && count != 1)
        counts.insert(count);
  }
  SmallVector<int64_t> result(counts.begin(), counts.end());
  llvm::sort(result, std::greater<>());
  return result;
}

FailureOr<KernelPlan> pipemesh::planKernel(const KernelBody &body) {
  for (Operation *op : body.ops)
    if (op->getNumResults() != 1 || !hasElementCode(op))
      return failure();
  // No vectors of complex numbers, and no rows of nothing.
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() > 0 &&
           !isa<ComplexType>(type.getElementType());
  };
  for (Operation *op : body.ops)
    if (!llvm::all_of(op->getOperands(), isPlain) ||
        !isPlain(op->getResult(0)))
      return planElements(body);
  // Many rows with columns enough to fill vectors are best; plain blocks of
  // elements better still.
  constexpr int64_t enoughColumns = 64;
  FailureOr<KernelPlan> best = Planner(body, 1).planRows();
  if (succeeded(best) && best->kind == KernelPlan::Flat)
    return best;
  FailureOr<KernelPlan> columns = Planner(body, 1).planColumns();
  if (succeeded(columns) && columns->rows > 1 && columns->columns > 1)
    return columns;
  for (int64_t rows : getRowCounts(body)) {
    FailureOr<KernelPlan> plan = Planner(body, rows).planRows();
    if (failed(plan))
      continue;
    if (failed(best) || plan->columns >= enoughColumns ||
        plan->columns >= best->columns)
      best = plan;
    if (best->columns >= enoughColumns)
      return best;
  }
  if (succeeded(best))
    return best;
  return planElements(body);
}
