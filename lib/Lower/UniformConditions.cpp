//===- UniformConditions.cpp ----------------------------------------------===//

#include "UniformConditions.h"
#include "ControlFlow.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pipemesh;

namespace {
/// Sets of mesh axes, by their numbers.
using Axes = uint64_t;

class Uniformity {
public:
  explicit Uniformity(func::FuncOp function) : function(function) {
    if (pm::MeshOp mesh = pm::lookupMesh(function))
      for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
        names.push_back(axis.getName());
  }

  LogicalResult run();

private:
  Axes bit(StringAttr axis) const {
    auto *found = llvm::find(names, axis);
    return found == names.end() ? 0 : Axes(1) << (found - names.begin());
  }
  Axes bits(ArrayAttr axes) const {
    Axes set = 0;
    for (auto axis : axes.getAsRange<StringAttr>())
      set |= bit(axis);
    return set;
  }
  Axes all() const {
    return names.size() >= 64 ? ~Axes(0) : (Axes(1) << names.size()) - 1;
  }
  Axes ofArgument(unsigned index);
  Axes lookup(Value value) const { return varies.lookup(value); }

  void visit(Block &block);
  void visitLoop(stablehlo::WhileOp op);
  void visitChoice(Operation *op);
  Axes ofOperation(Operation &op);
  LogicalResult check(Operation *collective);
  /// What decides whether a region of the op runs.
  static Value conditionOf(Operation *op) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      return loop.getCond().front().getTerminator()->getOperand(0);
    return op->getOperand(0);
  }

  func::FuncOp function;
  SmallVector<StringAttr> names;
  llvm::DenseMap<Value, Axes> varies;
};
} // namespace

static ArrayAttr axesOf(Operation *op) {
  if (isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
          pm::AllToAllOp, pm::CollectivePermuteOp>(op))
    return op->getAttrOfType<ArrayAttr>("axes");
  return {};
}

Axes Uniformity::ofArgument(unsigned index) {
  auto sharding =
      function.getArgAttrOfType<pm::ShardingAttr>(index, pm::kShardingAttr);
  auto name =
      function.getArgAttrOfType<FlatSymbolRefAttr>(index, pm::kBufferAttr);
  if (!sharding && name)
    for (auto program :
         function->getParentOfType<ModuleOp>().getOps<pm::ProgramOp>())
      if (auto buffer = dyn_cast_or_null<pm::BufferOp>(
              SymbolTable::lookupSymbolIn(program, name)))
        sharding = buffer.getSharding();
  if (!sharding)
    return all();
  Axes set = 0;
  for (pm::DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      set |= bit(axis);
  for (StringAttr axis : sharding.getPartialAxes())
    set |= bit(axis);
  return set;
}

Axes Uniformity::ofOperation(Operation &op) {
  Axes set = 0;
  for (Value operand : op.getOperands())
    set |= lookup(operand);
  op.walk([&](pm::AxisIndexOp index) {
    set |= bit(StringAttr::get(op.getContext(), index.getAxis()));
  });
  if (isa<pm::AllReduceOp, pm::AllGatherOp>(op))
    set &= ~bits(axesOf(&op));
  else if (ArrayAttr axes = axesOf(&op))
    set |= bits(axes);
  return set;
}

void Uniformity::visitLoop(stablehlo::WhileOp op) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  SmallVector<Axes> carried;
  for (Value initial : op->getOperands())
    carried.push_back(lookup(initial));
  // Sets only grow, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, set] : llvm::enumerate(carried)) {
      varies[cond.getArgument(index)] = set;
      varies[body.getArgument(index)] = set;
    }
    visit(cond);
    visit(body);
    Axes condition = lookup(conditionOf(op));
    for (auto [index, value] :
         llvm::enumerate(body.getTerminator()->getOperands())) {
      Axes set = carried[index] | lookup(value) | condition;
      changed |= set != carried[index];
      carried[index] = set;
    }
  }
  for (auto [result, set] : llvm::zip(op->getResults(), carried))
    varies[result] = set;
}

void Uniformity::visitChoice(Operation *op) {
  Axes condition = lookup(conditionOf(op));
  for (Value result : op->getResults())
    varies[result] = condition;
  for (Region &region : op->getRegions()) {
    visit(region.front());
    for (auto [result, value] :
         llvm::zip(op->getResults(),
                   region.front().getTerminator()->getOperands()))
      varies[result] |= lookup(value);
  }
}

void Uniformity::visit(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      visitLoop(loop);
    } else if (isControlFlow(&op)) {
      visitChoice(&op);
    } else {
      Axes set = ofOperation(op);
      for (Value result : op.getResults())
        varies[result] = set;
    }
  }
}

LogicalResult Uniformity::check(Operation *collective) {
  Axes axes = bits(axesOf(collective));
  for (Operation *op = collective->getParentOp(); op != function;
       op = op->getParentOp()) {
    if (!isControlFlow(op))
      continue;
    Axes differing = lookup(conditionOf(op)) & axes;
    if (!differing)
      continue;
    SmallVector<std::string> found;
    for (auto [index, name] : llvm::enumerate(names))
      if (differing >> index & 1)
        found.push_back("'" + name.str() + "'");
    InFlightDiagnostic diagnostic = collective->emitError("stands in a ");
    diagnostic << op->getName().stripDialect()
               << " whose condition may differ between the ranks along "
               << llvm::join(found, ", ")
               << ", which all have to come here; make the condition the same on "
                  "all of them, by replicating or reducing what it is computed "
                  "from";
    diagnostic.attachNote(conditionOf(op).getLoc()) << "the condition";
    return diagnostic;
  }
  return success();
}

LogicalResult Uniformity::run() {
  SmallVector<Operation *> inside;
  function.walk([&](Operation *op) {
    if (axesOf(op) && op->getParentOp() != function)
      inside.push_back(op);
  });
  if (inside.empty())
    return success();
  for (BlockArgument arg : function.getArguments())
    varies[arg] = ofArgument(arg.getArgNumber());
  visit(function.getBody().front());
  for (Operation *op : inside)
    if (failed(check(op)))
      return failure();
  return success();
}

LogicalResult pipemesh::verifyUniformConditions(func::FuncOp function) {
  return Uniformity(function).run();
}
