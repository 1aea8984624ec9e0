//===- Propagate.cpp - a sharding for every value -------------------------===//

#include "Constraints.h"
#include "FunctionAttrs.h"
#include "PartialPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pipemesh/Shard/Passes.h"
#include <set>

namespace pipemesh {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
/// The sharding of a value while it is being found.
struct State {
  ValueSharding sharding;
  /// Given by an annotation: propagation does not change it.
  bool fixed = false;
  /// Of an annotation with priorities: what it gives, and the priority of each
  /// dimension. A dimension is empty until its turn.
  SmallVector<DimCut> given;
  SmallVector<int64_t> priorities;
};

struct OpInfo {
  Operation *op;
  ShardingRule rule;
  bool hasRule;
  /// What annotations of earlier priorities have decided.
  FactorAxes bound;
};

/// Propagation in one function.
class Propagation {
public:
  Propagation(func::FuncOp function, pm::MeshOp mesh)
      : function(function), mesh(mesh), plan(this->mesh) {}

  LogicalResult run() {
    if (failed(readAnnotations()))
      return failure();
    for (int64_t priority : priorities) {
      reveal(priority);
      bool changed = true;
      while (changed) {
        changed = false;
        for (OpInfo &info : ops)
          changed |= propagateDims(info);
        for (OpInfo &info : llvm::reverse(ops))
          changed |= propagateDims(info);
      }
      bool anyCut;
      if (priority != *priorities.rbegin())
        for (OpInfo &info : ops)
          info.bound = factorsOf(info, anyCut);
    }
    SmallVector<Attribute> given;
    for (BlockArgument arg : function.getArguments())
      given.push_back(states[arg].sharding.toAttr(mesh));
    setArgAttrs(function, pm::kShardingAttr, given);
    planPartialValues();
    for (OpInfo &info : ops)
      settle(info);
    settleResults();
    return success();
  }

private:
  LogicalResult readAnnotations();
  LogicalResult checkAxes(Location loc, const ValueSharding &sharding);
  /// Shows the dimensions of annotations whose turn it is.
  void reveal(int64_t priority);
  FactorAxes factorsOf(OpInfo &info, bool &anyCut);
  bool propagateDims(OpInfo &info);
  bool extend(Value value, ArrayRef<DimCut> dims);
  void planPartialValues();
  void settle(OpInfo &info);
  void settleResults();
  Value reshard(Value value, const ValueSharding &target, Operation *user);
  /// The value of a result under `given`, and what stands for it after.
  void define(OpResult result, const ValueSharding &given);

  func::FuncOp function;
  MeshAxes mesh;
  std::vector<OpInfo> ops;
  PartialPlan plan;
  std::set<int64_t> priorities{0};
  llvm::DenseMap<Value, State> states;
  /// What stands for (value, sharding).
  llvm::DenseMap<std::pair<Value, Attribute>, Value> resharded;
};
} // namespace

LogicalResult Propagation::checkAxes(Location loc,
                                     const ValueSharding &sharding) {
  auto check = [&](StringAttr axis) -> LogicalResult {
    if (mesh.isStage(axis))
      return emitError(loc)
             << "a sharding names the axis '" << axis.getValue()
             << "', which is a stage axis: it divides ops, not values";
    if (mesh.has(axis))
      return success();
    return emitError(loc) << "a sharding names the axis '" << axis.getValue()
                          << "', which the mesh '" << mesh.symbol().getValue()
                          << "' does not have";
  };
  for (const DimCut &dim : sharding.dims)
    for (StringAttr axis : dim.axes)
      if (failed(check(axis)))
        return failure();
  for (StringAttr axis : sharding.partial)
    if (failed(check(axis)))
      return failure();
  return success();
}

LogicalResult Propagation::readAnnotations() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function with ")
           << function.getBody().getBlocks().size()
           << " blocks cannot be sharded; use structured control flow";
  auto add = [&](Value value, pm::ShardingAttr given, bool fixed) {
    State &state = states[value];
    state.fixed = fixed;
    if (!given) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        return LogicalResult(emitError(value.getLoc())
                             << "a value of type " << value.getType()
                             << " cannot be sharded; only ranked tensors can");
      state.sharding = ValueSharding(type.getRank());
      return success();
    }
    state.sharding = ValueSharding(given);
    if (llvm::any_of(given.getDims(), [](pm::DimShardingAttr dim) {
          return dim.getPriority() > 0;
        })) {
      state.given = state.sharding.dims;
      for (pm::DimShardingAttr dim : given.getDims()) {
        state.priorities.push_back(dim.getPriority());
        priorities.insert(dim.getPriority());
      }
    }
    // An open dimension may still be extended.
    state.fixed &= llvm::none_of(
        given.getDims(), [](pm::DimShardingAttr dim) { return dim.getOpen(); });
    return checkAxes(value.getLoc(), state.sharding);
  };
  auto stateOf = [&](BlockArgument arg) {
    return function.getArgAttrOfType<pm::StateAttr>(arg.getArgNumber(),
                                                    pm::kStateAttr);
  };
  llvm::DenseMap<Attribute, pm::ShardingAttr> parameters;
  for (BlockArgument arg : function.getArguments())
    if (pm::StateAttr state = stateOf(arg))
      if (state.getKind() == pm::StateKind::Parameter)
        parameters[state.getName()] = pm::getSharding(arg);
  for (BlockArgument arg : function.getArguments()) {
    pm::ShardingAttr given = pm::getSharding(arg);
    pm::StateAttr state = stateOf(arg);
    // A moment lies where its parameter does.
    if (!given && state &&
        (state.getKind() == pm::StateKind::Moment1 ||
         state.getKind() == pm::StateKind::Moment2))
      given = parameters.lookup(state.getName());
    if (failed(add(arg, given, given || state)))
      return failure();
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    OpInfo &info = ops.emplace_back();
    info.op = &op;
    info.rule = getRule(&op, info.hasRule);
    if (auto constrain = dyn_cast<pm::ConstrainOp>(op)) {
      if (failed(add(constrain.getResult(), constrain.getSharding(), true)))
        return failure();
      info.hasRule = true;
      continue;
    }
    if (auto existing = dyn_cast<pm::ReshardOp>(op)) {
      if (failed(add(existing.getResult(), existing.getTarget(), true)))
        return failure();
      info.hasRule = true;
      continue;
    }
    for (OpResult result : op.getResults()) {
      pm::ShardingAttr given = pm::getSharding(result);
      if (failed(add(result, given, static_cast<bool>(given))))
        return failure();
    }
  }
  // What a result must be is a wish for the value that is returned.
  for (OpOperand &operand :
       function.getBody().front().getTerminator()->getOpOperands())
    if (auto given = function.getResultAttrOfType<pm::ShardingAttr>(
            operand.getOperandNumber(), pm::kShardingAttr)) {
      ValueSharding sharding(given);
      if (failed(checkAxes(operand.get().getLoc(), sharding)))
        return failure();
      extend(operand.get(), sharding.dims);
    }
  return success();
}

void Propagation::reveal(int64_t priority) {
  for (auto &entry : states) {
    State &state = entry.second;
    if (state.given.empty())
      continue;
    // An open dimension may have taken an axis in the meantime.
    llvm::SmallDenseSet<StringAttr, 4> taken;
    for (auto [number, own] : llvm::enumerate(state.priorities))
      if (own < priority)
        taken.insert(state.sharding.dims[number].axes.begin(),
                     state.sharding.dims[number].axes.end());
    for (auto [number, own] : llvm::enumerate(state.priorities)) {
      if (own < priority)
        continue;
      Axes &axes = state.sharding.dims[number].axes;
      axes.clear();
      if (own == priority)
        llvm::copy_if(state.given[number].axes, std::back_inserter(axes),
                      [&](StringAttr axis) { return !taken.contains(axis); });
    }
  }
}

/// Adds axes behind those that the dimensions have; returns whether it did.
bool Propagation::extend(Value value, ArrayRef<DimCut> dims) {
  State &state = states[value];
  if (state.fixed)
    return false;
  SmallVector<DimCut> next;
  llvm::SmallDenseSet<StringAttr, 4> seen;
  for (auto [old, wanted] : llvm::zip(state.sharding.dims, dims)) {
    ArrayRef<StringAttr> have = old.axes, want = wanted.axes;
    bool longer =
        have.size() < want.size() && want.take_front(have.size()) == have;
    next.push_back(longer ? wanted : old);
    for (StringAttr axis : next.back().axes)
      if (!seen.insert(axis).second)
        return false;
  }
  if (next == state.sharding.dims)
    return false;
  state.sharding.dims = next;
  return true;
}

bool Propagation::propagateDims(OpInfo &info) {
  if (isa<pm::ConstrainOp, pm::ReshardOp>(info.op)) {
    // Backward only: the result is what the op says.
    if (auto existing = dyn_cast<pm::ReshardOp>(info.op))
      return extend(existing.getInput(),
                    ValueSharding(existing.getSource()).dims);
    // How a value is kept says nothing about how it is computed.
    if (info.op->hasAttr(kForwardOnlyAttr))
      return false;
    return extend(info.op->getOperand(0),
                  states[info.op->getResult(0)].sharding.dims);
  }
  if (!info.hasRule)
    return false;
  bool anyCut = false;
  FactorAxes factors = factorsOf(info, anyCut);
  if (!anyCut)
    return false;
  bool changed = false;
  for (auto [index, operand] : llvm::enumerate(info.op->getOperands()))
    changed |= extend(operand, dimsOfFactors(info.rule.operands[index],
                                             info.rule, factors, mesh));
  for (auto [index, result] : llvm::enumerate(info.op->getResults()))
    changed |= extend(result, dimsOfFactors(info.rule.results[index], info.rule,
                                            factors, mesh));
  return changed;
}

FactorAxes Propagation::factorsOf(OpInfo &info, bool &anyCut) {
  SmallVector<const ValueSharding *> operands, results;
  anyCut = false;
  auto add = [&](SmallVector<const ValueSharding *> &list, Value value) {
    list.push_back(&states.find(value)->second.sharding);
    anyCut |= llvm::any_of(list.back()->dims,
                           [](const DimCut &dim) { return !dim.axes.empty(); });
  };
  for (Value operand : info.op->getOperands())
    add(operands, operand);
  for (Value result : info.op->getResults())
    add(results, result);
  if (!anyCut)
    return FactorAxes(info.rule.factors.size());
  return chooseFactorAxes(info.op, info.rule, mesh, operands, results,
                          info.bound);
}

void Propagation::planPartialValues() {
  for (BlockArgument arg : function.getArguments())
    plan.fix(arg, states[arg].sharding);
  for (OpInfo &info : ops) {
    bool isBridge = isa<pm::ConstrainOp, pm::ReshardOp>(info.op);
    SmallVector<const ValueSharding *> results;
    for (Value result : info.op->getResults()) {
      const State &state = states.find(result)->second;
      results.push_back(&state.sharding);
      if (state.fixed)
        plan.fix(result, state.sharding);
    }
    bool anyCut = false;
    plan.add(info.op, isBridge ? nullptr : &info.rule,
             isBridge ? FactorAxes() : factorsOf(info, anyCut), results);
  }
  plan.solve();
}

/// The value under another sharding, in front of `user`; made once.
Value Propagation::reshard(Value value, const ValueSharding &target,
                           Operation *user) {
  const ValueSharding source = states[value].sharding;
  if (source == target)
    return value;
  pm::ShardingAttr targetAttr = target.toAttr(mesh);
  Value &known = resharded[{value, targetAttr}];
  if (known)
    return known;
  OpBuilder builder(user);
  auto op = pm::ReshardOp::create(builder, value.getLoc(), value.getType(),
                                  value, source.toAttr(mesh), targetAttr);
  pm::setSharding(op.getResult(), targetAttr);
  Operation *phaseOf =
      user->hasAttr(pm::kPhaseAttr) ? user : value.getDefiningOp();
  if (phaseOf)
    if (Attribute phase = phaseOf->getAttr(pm::kPhaseAttr))
      op->setAttr(pm::kPhaseAttr, phase);
  State &state = states[op.getResult()];
  state.sharding = target;
  state.fixed = true;
  known = op.getResult();
  return known;
}

void Propagation::define(OpResult result, const ValueSharding &given) {
  State &state = states[result];
  ValueSharding wanted = state.sharding;
  bool fixed = state.fixed;
  state.sharding = given;
  pm::setSharding(result, given.toAttr(mesh));
  if (!fixed || wanted == given)
    return;
  // The annotation of the result binds its uses.
  Value after = reshard(result, wanted, result.getOwner()->getNextNode());
  result.replaceAllUsesExcept(after, after.getDefiningOp());
}

void Propagation::settle(OpInfo &info) {
  Operation *op = info.op;
  if (auto constrain = dyn_cast<pm::ConstrainOp>(op)) {
    const ValueSharding target = states[constrain.getResult()].sharding;
    Value value = reshard(constrain.getInput(), target, op);
    constrain.getResult().replaceAllUsesWith(value);
    constrain.erase();
    return;
  }
  if (auto existing = dyn_cast<pm::ReshardOp>(op)) {
    ValueSharding source(existing.getSource()), target(existing.getTarget());
    existing.getInputMutable().assign(reshard(existing.getInput(), source, op));
    resharded.try_emplace({existing.getInput(), existing.getTarget()},
                          existing.getResult());
    define(existing->getResult(0), target);
    return;
  }
  if (!info.hasRule) {
    op->emitRemark("op '")
        << op->getName()
        << "' has no sharding rule; its operands and results are replicated";
    // So is what its regions take from outside.
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured) {
      Value whole =
          reshard(value, ValueSharding(states[value].sharding.dims.size()), op);
      for (Region &region : op->getRegions())
        replaceAllUsesInRegionWith(value, whole, region);
    }
  }
  SmallVector<ValueSharding> wanted;
  SmallVector<const ValueSharding *> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(&states.find(operand)->second.sharding);
  for (Value result : op->getResults())
    results.push_back(&states.find(result)->second.sharding);
  FactorAxes factors =
      chooseFactorAxes(op, info.rule, mesh, operands, results, info.bound);
  OpShardings shardings =
      inferOpShardings(op, info.rule, factors, mesh, operands,
                       [&](unsigned index, StringAttr axis) {
                         return plan.isReduced(op->getOperand(index), axis);
                       });
  for (auto [index, needed] : llvm::enumerate(shardings.operands))
    op->setOperand(index, reshard(op->getOperand(index), needed, op));
  for (auto [result, given] : llvm::zip(op->getResults(), shardings.results))
    define(result, given);
}

void Propagation::settleResults() {
  llvm::DenseMap<Attribute, Value> stateArgs;
  for (BlockArgument arg : function.getArguments())
    if (Attribute state =
            function.getArgAttr(arg.getArgNumber(), pm::kStateAttr))
      stateArgs.try_emplace(state, arg);
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Attribute> targets;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    ValueSharding target = states[operand.get()].sharding;
    target.partial.clear();
    Attribute state = function.getResultAttr(index, pm::kStateAttr);
    if (auto given = function.getResultAttrOfType<pm::ShardingAttr>(
            index, pm::kShardingAttr))
      target = ValueSharding(given);
    else if (Value arg = state ? stateArgs.lookup(state) : Value())
      target = states[arg].sharding; // Both share one buffer.
    operand.set(reshard(operand.get(), target, terminator));
    targets.push_back(target.toAttr(mesh));
  }
  setResultAttrs(function, pm::kShardingAttr, targets);
}

namespace {
class Propagate : public pipemesh::impl::PropagatePassBase<Propagate> {
public:
  void runOnOperation() override {
    pm::MeshOp mesh = pm::lookupMesh(getOperation());
    if (!mesh) {
      getOperation().emitError(
          "the module has no mesh; run pm-apply-strategy, or add a pm.mesh");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Propagation(function, mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
