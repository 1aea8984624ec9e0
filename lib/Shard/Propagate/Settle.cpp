//===- Settle.cpp - shardings and reshards in the IR ----------------------===//

#include "Settle.h"
#include "ShareReshards.h"
#include "../FunctionAttrs.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Shard/SeededFaults.h"

using namespace mlir;
using namespace pipemesh;

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

Settle::Target Settle::targetOf(ValueId value) const {
  const GraphValue &info = graph.values[value];
  return {SmallVector<CutId, 6>(
              static_cast<const Graph &>(graph).dimsOf(value)),
          info.partial, info.kind};
}

bool Settle::isSo(ValueId value, const Target &target) const {
  const GraphValue &info = graph.values[value];
  return info.partial == target.partial &&
         (!info.partial || info.kind == target.kind) &&
         static_cast<const Graph &>(graph).dimsOf(value) ==
             ArrayRef<CutId>(target.dims);
}

pm::ShardingAttr Settle::attrOf(const Target &target) {
  llvm::hash_code hash = llvm::hash_combine(
      llvm::hash_combine_range(target.dims.begin(), target.dims.end()),
      target.partial, static_cast<uint32_t>(target.kind));
  auto &list = attrs[hash];
  for (auto &[known, attr] : list)
    if (known.dims == target.dims && known.partial == target.partial &&
        known.kind == target.kind)
      return attr;
  ValueSharding sharding;
  for (CutId cut : target.dims)
    sharding.dims.push_back(graph.cuts.toDim(cut));
  sharding.partial = graph.cuts.axesOf(target.partial);
  sharding.kind = target.kind;
  pm::ShardingAttr attr = sharding.toAttr(graph.cuts.mesh());
  list.emplace_back(target, attr);
  return attr;
}

void Settle::setShardings(Operation *op, ArrayRef<Attribute> list) {
  MLIRContext *context = op->getContext();
  // Most ops have one result and no other attribute of ours.
  if (list.size() == 1) {
    DictionaryAttr old = op->getDiscardableAttrDictionary();
    if (old.empty() || (old.size() == 1 && old.begin()->getName() == name)) {
      DictionaryAttr &known = dictionaries[list[0]];
      if (!known)
        known = DictionaryAttr::get(
            context, NamedAttribute(name, ArrayAttr::get(context, list)));
      if (old != known)
        op->setDiscardableAttrs(known);
      return;
    }
  }
  op->setDiscardableAttr(name, ArrayAttr::get(context, list));
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

Value Settle::reshard(Value value, ValueId id, const Target &target,
                      Operation *user) {
  if (isSo(id, target))
    return value;
  pm::ShardingAttr targetAttr = attrOf(target);
  Block *home = value.getParentBlock();
  Operation *place = user;
  auto &known = resharded[{value, targetAttr}];
  for (Block *block = user->getBlock();;) {
    for (auto [where, other] : known)
      if (where == block)
        return other;
    if (block == home)
      break;
    Operation *parent = block->getParentOp();
    // A loop would exchange it again and again; inside of a manual computation
    // its axes are gone.
    if (isa<stablehlo::WhileOp, pm::ManualComputationOp>(parent))
      place = parent;
    block = parent->getBlock();
  }
  OpBuilder builder(place);
  auto op = pm::ReshardOp::create(builder, value.getLoc(), value.getType(),
                                  value, attrOf(targetOf(id)), targetAttr);
  setShardings(op, targetAttr);
  Operation *phaseOf =
      user->hasAttr(pm::kPhaseAttr) ? user : value.getDefiningOp();
  if (phaseOf)
    if (Attribute phase = phaseOf->getAttr(pm::kPhaseAttr))
      op->setAttr(pm::kPhaseAttr, phase);
  known.emplace_back(place->getBlock(), op.getResult());
  return op.getResult();
}

void Settle::setOperand(const GraphNode &node, unsigned index,
                        const Target &target) {
  ValueId id = graph.operandsOf(node)[index];
  if (isSo(id, target) ||
      (isSeeded(Fault::TornReshape) && isa<stablehlo::ReshapeOp>(node.op)))
    return;
  OpOperand *slot = graph.slots[node.firstOperand + index];
  slot->set(reshard(slot->get(), id, target, slot->getOwner()));
}

void Settle::define(OpResult result, ValueId id, const Target &given) {
  GraphValue &info = graph.values[id];
  Target wanted = targetOf(id);
  llvm::copy(given.dims, graph.dimsOf(id).begin());
  info.partial = given.partial;
  info.kind = given.kind;
  if (!info.isBound || isSo(id, wanted))
    return;
  // The annotation of the result binds its uses.
  Value after =
      reshard(result, id, wanted, result.getOwner()->getNextNode());
  result.replaceAllUsesExcept(after, after.getDefiningOp());
  llvm::copy(wanted.dims, graph.dimsOf(id).begin());
  info.partial = wanted.partial;
  info.kind = wanted.kind;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void Settle::settleOp(uint32_t number) {
  const GraphNode &node = graph.nodes[number];
  const RuleInfo &rule = *node.rule;
  Operation *op = node.op;
  ArrayRef<ValueId> operands = graph.operandsOf(node);
  if (!rule.hasRule)
    op->emitRemark("op '")
        << op->getName()
        << "' has no sharding rule; its operands and results are replicated";
  if (operands.size() > rule.numOperands) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (auto [value, id] :
         llvm::zip(captured, operands.drop_front(rule.numOperands))) {
      Target whole;
      whole.dims.assign(graph.values[id].rank, 0);
      Value other = reshard(value, id, whole, op);
      if (other != value)
        for (Region &region : op->getRegions())
          replaceAllUsesInRegionWith(value, other, region);
    }
  }
  SmallVector<CutId, 8> factors;
  sweep.factorsOf(number, factors);
  SmallVector<AxisMask, 8> partial;
  SmallVector<bool, 8> zero, sums;
  AxisMask blocked = 0;
  for (ValueId id : operands.take_front(rule.numOperands)) {
    const GraphValue &info = graph.values[id];
    partial.push_back(info.partial);
    zero.push_back(info.isZero);
    sums.push_back(info.kind == pm::ReductionKind::Sum);
    blocked |= info.partial & plan.reducedFor(id, number);
  }
  PartialFlow flow = flowThrough(rule, graph.cuts, factors, partial, zero, sums,
                                 blocked);
  Target target;
  for (unsigned index = 0; index < rule.numOperands; ++index) {
    target.dims.clear();
    for (const RuleInfo::Dim &dim : rule.dimsOf(index))
      target.dims.push_back(sweep.getChooser().cutOf(rule, dim, factors));
    target.partial = partial[index] & flow.flows;
    target.kind = graph.values[operands[index]].kind;
    setOperand(node, index, target);
  }
  SmallVector<Attribute, 2> list;
  SmallVector<Target, 2> given;
  for (unsigned index = 0; index < rule.numResults; ++index) {
    Target &own = given.emplace_back();
    for (const RuleInfo::Dim &dim : rule.dimsOf(rule.numOperands + index))
      own.dims.push_back(sweep.getChooser().cutOf(rule, dim, factors));
    own.partial = flow.made[index] | flow.flows;
    own.kind = flow.kind;
    list.push_back(attrOf(own));
  }
  if (rule.numResults == op->getNumResults()) {
    setShardings(op, list);
    for (auto [result, own, id] :
         llvm::zip(op->getResults(), given, graph.resultsOf(node)))
      define(result, id, own);
    return;
  }
  // One of the results of an op with a node for each.
  OpResult result = op->getResult(graph.slots[node.firstOperand]
                                      ->getOperandNumber());
  pm::setSharding(result, cast<pm::ShardingAttr>(list[0]));
  define(result, graph.resultsOf(node)[0], given[0]);
}

void Settle::settleManual(const GraphNode &node) {
  ValueId outer = graph.operandsOf(node)[0], inner = graph.resultsOf(node)[0];
  bool isIn = node.kind == NodeKind::ManualIn;
  if (!isIn)
    std::swap(outer, inner);
  SmallVector<CutId> prefix = graph.manualPrefix(node);
  pm::ShardingAttr given = graph.manualSharding(node);
  auto type = cast<RankedTensorType>(
      isIn ? graph.values[inner].value.getType()
           : graph.slots[node.firstOperand]->get().getType());
  Target outside, inside;
  outside.partial = graph.cuts.maskOf(given.getPartialAxes());
  outside.kind = inside.kind = given.getPartialKind();
  auto manual = isIn ? cast<pm::ManualComputationOp>(node.op)
                     : cast<pm::ManualComputationOp>(node.op->getParentOp());
  inside.partial = outside.partial & ~graph.manualAxes(node);
  // The inside has what the annotation and propagation gave the value that is
  // bound: the argument, or the result.
  for (unsigned dim = 0; dim < prefix.size(); ++dim) {
    CutId own = graph.dimsOf(isIn ? inner : outer)[dim];
    if (!isIn) {
      ArrayRef<uint8_t> axes = graph.cuts[own].axes;
      own = graph.cuts.get(SmallVector<uint8_t, 8>(
          axes.drop_front(graph.cuts[prefix[dim]].axes.size())));
    }
    std::optional<CutId> joined =
        sweep.join(prefix[dim], own, type.getDimSize(dim));
    inside.dims.push_back(joined ? own : 0);
    outside.dims.push_back(joined.value_or(prefix[dim]));
  }
  setOperand(node, 0, isIn ? outside : inside);
  ArrayAttr old = isIn ? manual.getInShardings() : manual.getOutShardings();
  SmallVector<Attribute> list(old.begin(), old.end());
  list[node.number] = attrOf(outside);
  auto attr = ArrayAttr::get(manual.getContext(), list);
  ValueId bound = isIn ? inner : outer;
  const Target &own = isIn ? inside : outside;
  llvm::copy(own.dims, graph.dimsOf(bound).begin());
  graph.values[bound].partial = own.partial;
  if (isIn) {
    manual.setInShardingsAttr(attr);
  } else {
    manual.setOutShardingsAttr(attr);
    setShardings(manual, list);
  }
}

/// A result is as its annotation says; open dimensions as the value is.
void Settle::settleReturn(const GraphNode &node) {
  func::FuncOp function = graph.function;
  llvm::DenseMap<Attribute, Value> stateArgs;
  for (BlockArgument arg : function.getArguments())
    if (Attribute state =
            function.getArgAttr(arg.getArgNumber(), pm::kStateAttr))
      stateArgs.try_emplace(state, arg);
  SmallVector<Attribute> targets;
  for (auto [index, id] : llvm::enumerate(graph.operandsOf(node))) {
    Target target = targetOf(id);
    target.partial = 0;
    Attribute state = function.getResultAttr(index, pm::kStateAttr);
    if (auto given = function.getResultAttrOfType<pm::ShardingAttr>(
            index, pm::kShardingAttr)) {
      // An open dimension keeps what it has behind its own axes, unless that is
      // given to another one.
      AxisMask taken = graph.cuts.maskOf(given.getPartialAxes());
      for (pm::DimShardingAttr dim : given.getDims())
        taken |= graph.cuts.maskOf(dim.getAxes());
      for (auto [number, dim] : llvm::enumerate(given.getDims())) {
        CutId cut =
            graph.cuts.get(DimCut{Axes(dim.getAxes()), dim.getBlockSize()});
        CutId &own = target.dims[number];
        if (dim.getOpen() && graph.cuts.isPrefix(cut, own))
          own = graph.cuts.withoutAxes(
              own, taken & ~graph.cuts.maskOf(dim.getAxes()));
        else
          own = cut;
      }
      target.partial = graph.cuts.maskOf(given.getPartialAxes());
      target.kind = given.getPartialKind();
    } else if (Value arg = state ? stateArgs.lookup(state) : Value()) {
      target = targetOf(graph.idOf(arg)); // Both share one buffer.
    }
    setOperand(node, index, target);
    targets.push_back(attrOf(target));
  }
  setResultAttrs(function, pm::kShardingAttr, targets);
}

void Settle::settleNode(uint32_t number) {
  const GraphNode &node = graph.nodes[number];
  Target whole;
  switch (node.kind) {
  case NodeKind::Op:
    return settleOp(number);
  case NodeKind::Join: {
    if (isSeeded(Fault::StaleCarry))
      return;
    Target target = targetOf(graph.resultsOf(node)[0]);
    // Zero is partial over everything.
    const GraphValue &info = graph.values[graph.operandsOf(node)[0]];
    if (info.isZero) {
      target.partial = info.partial;
      target.kind = info.kind;
    }
    return setOperand(node, 0, target);
  }
  case NodeKind::Whole:
    whole.dims.assign(graph.values[graph.operandsOf(node)[0]].rank, 0);
    return setOperand(node, 0, whole);
  case NodeKind::Return:
    return settleReturn(node);
  case NodeKind::Group:
    return;
  case NodeKind::ManualIn:
  case NodeKind::ManualOut:
    return settleManual(node);
  case NodeKind::Constrain: {
    setOperand(node, 0, targetOf(graph.resultsOf(node)[0]));
    node.op->getResult(0).replaceAllUsesWith(node.op->getOperand(0));
    node.op->erase();
    return;
  }
  case NodeKind::Reshard: {
    auto op = cast<pm::ReshardOp>(node.op);
    auto read = [&](pm::ShardingAttr attr) {
      Target target;
      for (const DimCut &dim : ValueSharding(attr).dims)
        target.dims.push_back(graph.cuts.get(dim));
      target.partial = graph.cuts.maskOf(attr.getPartialAxes());
      target.kind = attr.getPartialKind();
      return target;
    };
    setOperand(node, 0, read(op.getSource()));
    resharded[{op.getInput(), op.getTarget()}].emplace_back(op->getBlock(),
                                                            op.getResult());
    Target target = read(op.getTarget());
    setShardings(op, attrOf(target));
    define(op->getResult(0), graph.resultsOf(node)[0], target);
    return;
  }
  }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult Settle::settleGroups() {
  for (const GraphNode &node : graph.nodes) {
    if (node.kind != NodeKind::Group)
      continue;
    ArrayRef<ValueId> members = graph.operandsOf(node);
    for (auto [index, id] : llvm::enumerate(members)) {
      if (graph.dimsOf(id) != graph.dimsOf(members[0])) {
        OpOperand *slot = graph.slots[node.firstOperand + index];
        InFlightDiagnostic error =
            slot->getOwner()->emitError("a value of sharding group ");
        error << node.number << " is " << attrOf(targetOf(id))
              << ", but another one is " << attrOf(targetOf(members[0]));
        error.attachNote(node.op->getLoc()) << "the other one";
        return failure();
      }
      graph.values[id].isBound = true;
    }
  }
  return success();
}

void Settle::settleArguments() {
  SmallVector<Attribute> given;
  for (BlockArgument arg : graph.function.getArguments()) {
    Target target = targetOf(graph.idOf(arg));
    if (isSeeded(Fault::StrayCut) && arg.use_empty() && !target.dims.empty())
      target.dims[0] = graph.cuts.get(SmallVector<uint8_t, 8>{0});
    given.push_back(attrOf(target));
  }
  setArgAttrs(graph.function, pm::kShardingAttr, given);
}

void Settle::finishRegionOps() {
  graph.function.walk([&](Operation *op) {
    if (isa<pm::ShardingGroupOp>(op))
      return op->erase();
    if (!isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op) ||
        op->getNumResults() == 0)
      return;
    // Those in the regions of ops that are not walked into have no numbers.
    SmallVector<Attribute> list;
    for (Value result : op->getResults()) {
      ValueId id = graph.idOf(result);
      if (id == 0 && graph.values[0].value != result)
        return;
      list.push_back(attrOf(targetOf(id)));
    }
    setShardings(op, list);
  });
}

LogicalResult Settle::run() {
  if (failed(settleGroups()))
    return failure();
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    GraphValue &info = graph.values[id];
    if (!info.isJoined || info.isBound)
      continue;
    info.partial = plan.partialOf(id);
    info.kind = plan.kindOf(id);
  }
  if (isSeeded(Fault::WholeCarry))
    for (ValueId id = 0; id < graph.values.size(); ++id)
      if (graph.values[id].isJoined)
        llvm::fill(graph.dimsOf(id), 0);
  settleArguments();
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    settleNode(node);
  finishRegionOps();
  shareReshards(graph.function);
  return success();
}
