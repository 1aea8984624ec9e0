//===- Bytes.cpp - pmcheck bytes ------------------------------------------===//

#include "Commands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Lower/TripCount.h"
#include "pipemesh/Support/ByteSize.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace shlo = pipemesh::stablehlo;
namespace pm = pipemesh::pm;

namespace pipemesh::check {

namespace {

/// What one kind of collective over one set of axes moves.
struct Total {
  double count = 0;
  double operandBytes = 0;
  double wireBytes = 0;
};

/// Counts what the ranks of a partitioned module send, each collective as often as
/// it runs.
class Counter {
public:
  explicit Counter(pm::MeshOp mesh) : mesh(mesh) {
    sent.resize(mesh ? std::max<int64_t>(mesh.getNumRanksPerStage(), 1) : 1);
  }

  /// Fails, after a diagnostic, at a loop whose trip count is not constant.
  LogicalResult add(Region &region, double times);
  void print() const;

private:
  LogicalResult add(Operation *op, double times);
  LogicalResult addChoice(Operation *op, double times);
  void addExchange(Operation *op, StringRef kind, ArrayAttr axes, double times,
                   double factor);
  void addPermute(pm::CollectivePermuteOp op, double times);
  int64_t sizeOf(ArrayAttr axes);

  pm::MeshOp mesh;
  llvm::MapVector<std::pair<StringRef, ArrayAttr>, Total> totals;
  /// What all ranks send alike, and what each sends besides.
  double alike = 0;
  SmallVector<double> sent;
};

} // namespace

int64_t Counter::sizeOf(ArrayAttr axes) {
  int64_t size = 1;
  for (auto name : axes.getAsRange<StringAttr>())
    if (pm::MeshAxisAttr axis = mesh ? mesh.lookupAxis(name) : nullptr)
      size *= axis.getSize();
  return size;
}

void Counter::addExchange(Operation *op, StringRef kind, ArrayAttr axes,
                          double times, double factor) {
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += byteSizeOf(operand.getType());
  Total &total = totals[{kind, axes}];
  total.count += times;
  total.operandBytes += times * bytes;
  total.wireBytes += times * bytes * factor;
  alike += times * bytes * factor;
}

/// A rank sends its operand to each member that has it as its source.
void Counter::addPermute(pm::CollectivePermuteOp op, double times) {
  double bytes = byteSizeOf(op.getInput().getType());
  ArrayRef<int64_t> sources = op.getSources();
  // Parts that a member sends, of which the operand has some.
  int64_t members = sizeOf(op.getAxes());
  SmallVector<double> targets(members, 0);
  for (auto [index, source] : llvm::enumerate(sources))
    if (source >= 0 && source != int64_t(index) % members)
      targets[source] += double(members) / sources.size();
  Total &total = totals[{"collective_permute", op.getAxes()}];
  total.count += times;
  total.operandBytes += times * bytes;
  total.wireBytes += times * bytes * *llvm::max_element(targets);
  // The member that a rank is: its coordinates on the axes, major to minor.
  for (auto [rank, own] : llvm::enumerate(sent)) {
    int64_t member = 0;
    for (auto name : op.getAxes().getAsRange<StringAttr>()) {
      int64_t stride = sent.size();
      for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
        if (axis.getKind() != pm::AxisKind::Spatial)
          continue;
        stride /= axis.getSize();
        if (axis.getName() == name)
          member = member * axis.getSize() + rank / stride % axis.getSize();
      }
    }
    if (member < int64_t(targets.size()))
      own += times * bytes * targets[member];
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static bool hasCollective(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
                   pm::AllToAllOp, pm::CollectivePermuteOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The region that moves most.
LogicalResult Counter::addChoice(Operation *op, double times) {
  std::optional<Counter> best;
  double most = -1;
  for (Region &region : op->getRegions()) {
    Counter branch = *this;
    if (failed(branch.add(region, times)))
      return failure();
    double bytes = branch.alike + *llvm::max_element(branch.sent);
    if (bytes > most) {
      most = bytes;
      best = std::move(branch);
    }
  }
  if (best)
    *this = std::move(*best);
  return success();
}

/// The size of a dimension as a part of that of another value.
static double sizeRatio(Value piece, Value whole, int64_t dim) {
  auto sizeOf = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  return double(sizeOf(piece)) / std::max<int64_t>(sizeOf(whole), 1);
}

LogicalResult Counter::add(Operation *op, double times) {
  if (auto reduce = dyn_cast<pm::AllReduceOp>(op)) {
    double n = sizeOf(reduce.getAxes());
    addExchange(op, "all_reduce", reduce.getAxes(), times, 2 * (n - 1) / n);
  } else if (auto gather = dyn_cast<pm::AllGatherOp>(op)) {
    addExchange(op, "all_gather", gather.getAxes(), times,
                sizeOf(gather.getAxes()) - 1);
  } else if (auto scatter = dyn_cast<pm::ReduceScatterOp>(op)) {
    // Uneven pieces count as the longest one.
    addExchange(op, "reduce_scatter", scatter.getAxes(), times,
                (sizeOf(scatter.getAxes()) - 1) *
                    sizeRatio(scatter.getResult(), scatter.getInput(),
                              scatter.getDim()));
  } else if (auto exchange = dyn_cast<pm::AllToAllOp>(op)) {
    addExchange(op, "all_to_all", exchange.getAxes(), times,
                (sizeOf(exchange.getAxes()) - 1) *
                    sizeRatio(exchange.getResult(), exchange.getInput(),
                              exchange.getSplit()));
  } else if (auto permute = dyn_cast<pm::CollectivePermuteOp>(op)) {
    addPermute(permute, times);
  } else if (op->getNumRegions() != 0 && hasCollective(op)) {
    if (auto loop = dyn_cast<shlo::WhileOp>(op)) {
      std::optional<int64_t> trips = countTrips(loop);
      if (!trips)
        return op->emitError("holds collectives, and how often it runs is not "
                             "constant");
      if (failed(add(loop.getCond(), times * (*trips + 1))))
        return failure();
      return add(loop.getBody(), times * *trips);
    }
    if (isa<shlo::IfOp, shlo::CaseOp>(op))
      return addChoice(op, times);
    for (Region &region : op->getRegions())
      if (failed(add(region, times)))
        return failure();
  }
  return success();
}

LogicalResult Counter::add(Region &region, double times) {
  for (Block &block : region)
    for (Operation &op : block)
      if (failed(add(&op, times)))
        return failure();
  return success();
}

void Counter::print() const {
  for (auto &[key, total] : totals) {
    llvm::outs() << key.first << " over " << key.second << ": "
                 << llvm::format("%.0f of %.0f bytes, %.0f on the wire\n",
                                 total.count, total.operandBytes,
                                 total.wireBytes);
  }
  llvm::outs() << llvm::format("wire bytes per rank: %.0f\n",
                               alike + *llvm::max_element(sent));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

int runBytes(ArrayRef<StringRef> list, MLIRContext &context) {
  Arguments arguments;
  if (!arguments.parse(list, {}, 1, "bytes A.mlir"))
    return 2;
  OwningOpRef<ModuleOp> module = readModule(arguments[0], context);
  if (!module)
    return 2;
  // Fragments run as often as the actions of a role say, functions once.
  llvm::DenseMap<Attribute, double> runs;
  bool hasActions = false;
  module->walk([&](pm::ActionOp action) {
    hasActions = true;
    ++runs[pm::FragmentAttr::get(&context, action.getKind(),
                                 action.getStage())];
  });
  Counter counter(pm::lookupMesh(*module));
  for (auto function : module->getOps<func::FuncOp>()) {
    double times = 1;
    if (Attribute fragment = function->getAttr(pm::kFragmentAttr))
      if (hasActions)
        times = runs.lookup(fragment);
    if (failed(counter.add(function.getBody(), times)))
      return 1;
  }
  counter.print();
  return 0;
}

} // namespace pipemesh::check
