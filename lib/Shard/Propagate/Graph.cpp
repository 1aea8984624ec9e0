//===- Graph.cpp - the values and ops of a function, numbered -------------===//

#include "Graph.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

LogicalResult Graph::checkAxes(Location loc, pm::ShardingAttr sharding) {
  const MeshAxes &mesh = cuts.mesh();
  auto check = [&](StringAttr axis) -> LogicalResult {
    if (mesh.isStage(axis))
      return emitError(loc)
             << "a sharding names the axis '" << axis.getValue()
             << "', which is a stage axis: it divides ops, not values";
    if (mesh.has(axis))
      return success();
    if (axis.getValue().contains(":("))
      return emitError(loc)
             << "a sharding names '" << axis.getValue()
             << "', a part of an axis; run pm-refine-mesh in front";
    return emitError(loc) << "a sharding names the axis '" << axis.getValue()
                          << "', which the mesh '" << mesh.symbol().getValue()
                          << "' does not have";
  };
  for (pm::DimShardingAttr dim : sharding.getDims()) {
    if (dim.getAxes().size() > kMaxDimAxes)
      return emitError(loc) << "one dimension is cut over "
                            << dim.getAxes().size() << " axes; at most "
                            << kMaxDimAxes << " are supported";
    for (StringAttr axis : dim.getAxes())
      if (failed(check(axis)))
        return failure();
  }
  for (ArrayRef<StringAttr> list :
       {sharding.getPartialAxes(), sharding.getReplicatedAxes()})
    for (StringAttr axis : list)
      if (failed(check(axis)))
        return failure();
  return success();
}

LogicalResult Graph::addValue(Value value, pm::ShardingAttr given,
                              bool isClosed, ValueId &id) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return LogicalResult(emitError(value.getLoc())
                         << "a value of type " << value.getType()
                         << " cannot be sharded; only ranked tensors can");
  id = values.size();
  ids[value] = id;
  GraphValue &info = values.emplace_back();
  info.value = value;
  info.firstDim = dims.size();
  info.rank = type.getRank();
  info.bytes = byteSizeOf(type);
  info.isBound = isClosed || given;
  dims.resize(dims.size() + type.getRank(), 0);
  closed.resize(dims.size(), isClosed && !given);
  if (!given)
    return success();
  if (failed(checkAxes(value.getLoc(), given)))
    return failure();
  info.partial = cuts.maskOf(given.getPartialAxes());
  info.kind = given.getPartialKind();
  info.replicated = cuts.maskOf(given.getReplicatedAxes());
  bool waits = false;
  for (auto [number, dim] : llvm::enumerate(given.getDims())) {
    dims[info.firstDim + number] =
        cuts.get(DimCut{Axes(dim.getAxes()), dim.getBlockSize()});
    closed[info.firstDim + number] = !dim.getOpen();
    waits |= dim.getPriority() > 0;
  }
  if (waits) {
    Waiting &own = waiting.emplace_back();
    own.value = id;
    for (auto [number, dim] : llvm::enumerate(given.getDims())) {
      own.given.push_back(dims[info.firstDim + number]);
      own.priorities.push_back(dim.getPriority());
      priorities.insert(dim.getPriority());
    }
  }
  return success();
}

LogicalResult Graph::readArguments() {
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
    ValueId id;
    if (failed(addValue(arg, given, static_cast<bool>(state), id)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

GraphNode &Graph::addNode(NodeKind kind, Operation *op, const RuleInfo &rule,
                          ArrayRef<OpOperand *> operands,
                          ArrayRef<ValueId> results, AxisMask forbidden) {
  nodes.push_back({op, &rule, uint32_t(operandIds.size()),
                   uint32_t(operands.size()), uint32_t(resultIds.size()),
                   uint32_t(results.size()), forbidden, kind});
  for (OpOperand *operand : operands) {
    operandIds.push_back(ids.find(operand->get())->second);
    slots.push_back(operand);
  }
  resultIds.insert(resultIds.end(), results.begin(), results.end());
  return nodes.back();
}

/// Whether every element is zero, as constants tell; operands are known.
static bool isZeroResult(Operation &op, ArrayRef<GraphValue> values,
                         const llvm::DenseMap<Value, ValueId> &ids) {
  if (isa<stablehlo::ConstantOp>(op))
    return isKnownZero(op.getResult(0));
  if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
          stablehlo::ConvertOp, pm::ReshardOp>(op))
    return values[ids.find(op.getOperand(0))->second].isZero;
  return false;
}

LogicalResult Graph::addResults(Operation &op) {
  auto list = dyn_cast_or_null<ArrayAttr>(op.getDiscardableAttr(shardingsName));
  for (OpResult result : op.getResults()) {
    pm::ShardingAttr given;
    if (list && result.getResultNumber() < list.size())
      given = dyn_cast<pm::ShardingAttr>(list[result.getResultNumber()]);
    ValueId id;
    if (failed(addValue(result, given, /*isClosed=*/false, id)))
      return failure();
    values[id].isZero = isZeroResult(op, values, ids);
  }
  return success();
}

GraphNode &Graph::addOpNode(Operation &op, AxisMask forbidden) {
  SmallVector<OpOperand *, 4> operands;
  for (OpOperand &operand : op.getOpOperands())
    operands.push_back(&operand);
  SmallVector<ValueId, 2> results;
  for (Value result : op.getResults())
    results.push_back(ids.find(result)->second);
  GraphNode &node = addNode(NodeKind::Op, &op, rules.get(&op), operands,
                            results, forbidden);
  if (op.getNumRegions() == 0)
    return node;
  // What its regions take from outside must be whole.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  for (Value value : captured) {
    operandIds.push_back(ids.find(value)->second);
    slots.push_back(nullptr);
    ++node.numOperands;
  }
  return node;
}

/// Ops that hand each operand on to the result of the same number.
static bool isByNumber(Operation &op) {
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return true;
  auto reduce = dyn_cast<pm::AllReduceOp>(op);
  return reduce && reduce.getKind() == pm::ReductionKind::Sum;
}

LogicalResult Graph::visitWhile(Operation &op, AxisMask forbidden) {
  Region &cond = op.getRegion(0), &body = op.getRegion(1);
  if (failed(addResults(op)))
    return failure();
  auto joins = [&](Operation *from) {
    for (auto [operand, result] :
         llvm::zip(from->getOpOperands(), op.getResults())) {
      ValueId id = ids.find(result)->second;
      addNode(NodeKind::Join, from, rules.identity(result.getType()), &operand,
              id, forbidden);
    }
  };
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    ValueId id = ids.find(result)->second;
    values[id].isJoined = true;
    ids[cond.getArgument(number)] = id;
    ids[body.getArgument(number)] = id;
  }
  joins(&op);
  for (Value result : op.getResults())
    values[ids.find(result)->second].firstInside = nodes.size();
  if (failed(visitBlock(cond.front(), forbidden)))
    return failure();
  Operation *test = cond.front().getTerminator();
  addNode(NodeKind::Whole, test, rules.whole(test->getOperandTypes()),
          &test->getOpOperand(0), {}, forbidden);
  if (failed(visitBlock(body.front(), forbidden)))
    return failure();
  for (Value result : op.getResults())
    values[ids.find(result)->second].lastInside = nodes.size();
  joins(body.front().getTerminator());
  return success();
}

LogicalResult Graph::visitBranches(Operation &op, AxisMask forbidden) {
  addNode(NodeKind::Whole, &op, rules.whole(op.getOperandTypes()),
          &op.getOpOperand(0), {}, forbidden);
  if (failed(addResults(op)))
    return failure();
  for (Value result : op.getResults())
    values[ids.find(result)->second].isJoined = true;
  for (Region &region : op.getRegions()) {
    if (failed(visitBlock(region.front(), forbidden)))
      return failure();
    Operation *end = region.front().getTerminator();
    for (auto [operand, result] :
         llvm::zip(end->getOpOperands(), op.getResults())) {
      ValueId id = ids.find(result)->second;
      addNode(NodeKind::Join, end, rules.identity(result.getType()), &operand,
              id, forbidden);
    }
  }
  return success();
}

pm::ShardingAttr Graph::manualSharding(const GraphNode &node) const {
  auto op = dyn_cast<pm::ManualComputationOp>(node.op);
  if (node.kind == NodeKind::ManualIn)
    return cast<pm::ShardingAttr>(op.getInShardings()[node.number]);
  op = cast<pm::ManualComputationOp>(node.op->getParentOp());
  return cast<pm::ShardingAttr>(op.getOutShardings()[node.number]);
}

AxisMask Graph::manualAxes(const GraphNode &node) const {
  auto op = dyn_cast<pm::ManualComputationOp>(node.op);
  if (!op)
    op = cast<pm::ManualComputationOp>(node.op->getParentOp());
  AxisMask mask = 0;
  for (Attribute axis : op.getManualAxes())
    mask |= cuts.maskOf(cast<StringAttr>(axis));
  return mask;
}

SmallVector<CutId> Graph::manualPrefix(const GraphNode &node) {
  auto op = dyn_cast<pm::ManualComputationOp>(node.op);
  if (!op)
    op = cast<pm::ManualComputationOp>(node.op->getParentOp());
  SmallVector<CutId> prefix;
  for (pm::DimShardingAttr dim : manualSharding(node).getDims()) {
    Axes axes(dim.getAxes());
    llvm::erase_if(axes, [&](StringAttr axis) {
      return !llvm::is_contained(op.getManualAxes(), axis);
    });
    prefix.push_back(cuts.get(DimCut{axes, 0}));
  }
  return prefix;
}

LogicalResult Graph::visitManual(pm::ManualComputationOp op,
                                 AxisMask forbidden) {
  SmallVector<StringAttr> names;
  for (Attribute axis : op.getManualAxes()) {
    names.push_back(cast<StringAttr>(axis));
    if (!cuts.mesh().has(names.back()))
      return op.emitError("the manual axis '")
             << names.back().getValue() << "' is none of the mesh '"
             << cuts.mesh().symbol().getValue() << "'";
  }
  AxisMask manual = cuts.maskOf(names), inside = forbidden | manual;
  Block &body = op.getBody().front();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    BlockArgument arg = body.getArgument(number);
    auto given = cast<pm::ShardingAttr>(op.getInShardings()[number]);
    ValueId id;
    if (failed(checkAxes(op.getLoc(), given)) ||
        failed(addValue(arg, pm::getSharding(arg), /*isClosed=*/false, id)))
      return failure();
    values[id].partial = cuts.maskOf(given.getPartialAxes()) & ~manual;
    addNode(NodeKind::ManualIn, op, rules.identity(arg.getType()), &operand,
            id, forbidden)
        .number = number;
  }
  if (failed(visitBlock(body, inside)))
    return failure();
  Operation *end = body.getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    auto given = cast<pm::ShardingAttr>(op.getOutShardings()[number]);
    ValueId id;
    if (failed(addValue(op.getResult(number), given, /*isClosed=*/false, id)))
      return failure();
    addNode(NodeKind::ManualOut, end, rules.identity(operand.get().getType()),
            &operand, id, forbidden)
        .number = number;
  }
  return success();
}

LogicalResult Graph::visitOp(Operation &op, AxisMask forbidden) {
  if (auto constrain = dyn_cast<pm::ConstrainOp>(op)) {
    ValueId id;
    if (failed(addValue(constrain.getResult(), constrain.getSharding(),
                        /*isClosed=*/false, id)))
      return failure();
    addNode(NodeKind::Constrain, &op, rules.identity(constrain.getType()),
            &op.getOpOperand(0), id, forbidden);
    return success();
  }
  if (auto existing = dyn_cast<pm::ReshardOp>(op)) {
    ValueId id;
    if (failed(checkAxes(op.getLoc(), existing.getSource())) ||
        failed(addValue(existing.getResult(), existing.getTarget(),
                        /*isClosed=*/false, id)))
      return failure();
    values[id].isZero = isZeroResult(op, values, ids);
    addNode(NodeKind::Reshard, &op, rules.identity(existing.getType()),
            &op.getOpOperand(0), id, forbidden);
    return success();
  }
  if (auto group = dyn_cast<pm::ShardingGroupOp>(op)) {
    groups[group.getId()].push_back(&op.getOpOperand(0));
    return success();
  }
  if (isa<stablehlo::WhileOp>(op))
    return visitWhile(op, forbidden);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return visitBranches(op, forbidden);
  if (auto manual = dyn_cast<pm::ManualComputationOp>(op))
    return visitManual(manual, forbidden);
  if (failed(addResults(op)))
    return failure();
  if (!isByNumber(op)) {
    addOpNode(op, forbidden);
    return success();
  }
  for (auto [operand, result] :
       llvm::zip(op.getOpOperands(), op.getResults())) {
    ValueId id = ids.find(result)->second;
    values[id].isZero = values[ids.find(operand.get())->second].isZero;
    addNode(NodeKind::Op, &op, rules.identity(result.getType()), &operand, id,
            forbidden);
  }
  return success();
}

LogicalResult Graph::visitBlock(Block &block, AxisMask forbidden) {
  for (Operation &op : block.without_terminator())
    if (failed(visitOp(op, forbidden)))
      return failure();
  return success();
}

/// What a result must be is a wish for the value that is returned.
void Graph::readResults() {
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : end->getOpOperands())
    operands.push_back(&operand);
  addNode(NodeKind::Return, end, rules.whole({}), operands, {}, 0);
}

void Graph::listNodes() {
  auto forEachUse = [&](auto use) {
    std::vector<uint32_t> last(values.size(), ~0u);
    for (uint32_t number = 0; number < nodes.size(); ++number) {
      auto add = [&](ValueId id) {
        if (last[id] != number)
          use(id, number);
        last[id] = number;
      };
      llvm::for_each(operandsOf(nodes[number]), add);
      llvm::for_each(resultsOf(nodes[number]), add);
    }
  };
  firstNode.assign(values.size() + 1, 0);
  forEachUse([&](ValueId id, uint32_t) { ++firstNode[id + 1]; });
  for (size_t id = 0; id < values.size(); ++id)
    firstNode[id + 1] += firstNode[id];
  nodeLists.resize(firstNode.back());
  std::vector<uint32_t> next(firstNode.begin(), firstNode.end() - 1);
  forEachUse([&](ValueId id, uint32_t number) {
    nodeLists[next[id]++] = number;
  });
}

LogicalResult Graph::build() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function with ")
           << function.getBody().getBlocks().size()
           << " blocks cannot be sharded; use structured control flow";
  if (cuts.mesh().all().size() > kMaxAxes)
    return function.emitError("the mesh '")
           << cuts.mesh().symbol().getValue() << "' has "
           << cuts.mesh().all().size() << " axes; at most " << kMaxAxes
           << " are supported";
  shardingsName = StringAttr::get(function.getContext(), pm::kShardingsAttr);
  size_t numOps = function.getBody().front().getOperations().size();
  values.reserve(numOps * 9 / 8);
  nodes.reserve(numOps * 9 / 8);
  dims.reserve(numOps * 4);
  closed.reserve(numOps * 4);
  ids.reserve(numOps * 9 / 8);
  if (failed(readArguments()) ||
      failed(visitBlock(function.getBody().front(), 0)))
    return failure();
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto given = function.getResultAttrOfType<pm::ShardingAttr>(
            index, pm::kShardingAttr))
      if (failed(checkAxes(function.getLoc(), given)))
        return failure();
  SmallVector<int64_t> numbers;
  for (auto &entry : groups)
    numbers.push_back(entry.first);
  llvm::sort(numbers);
  for (int64_t number : numbers) {
    ArrayRef<OpOperand *> members = groups[number];
    Type type = members[0]->get().getType();
    for (OpOperand *member : members)
      if (cast<RankedTensorType>(member->get().getType()).getShape() !=
          cast<RankedTensorType>(type).getShape()) {
        InFlightDiagnostic error = member->getOwner()->emitError(
            "a value of type ");
        error << member->get().getType() << " cannot lie as one of type "
              << type << "; the values of sharding group " << number
              << " must have one shape";
        error.attachNote(members[0]->getOwner()->getLoc())
            << "the first value of the group";
        return failure();
      }
    addNode(NodeKind::Group, members[0]->getOwner(),
            rules.alike(type, members.size()), members, {}, 0)
        .number = number;
  }
  readResults();
  listNodes();
  return success();
}
