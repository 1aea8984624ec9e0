//===- StageAssignment.cpp - the stage of every op of a step --------------===//

#include "StageAssignment.h"
#include "Stage.h"
#include "pipemesh/Schedule/Balance.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pipemesh;

LogicalResult StageAssignment::run() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isInPhase(&op, "forward"))
      forward.push_back(&op);
    else if (isInPhase(&op, "backward"))
      backward.push_back(&op);
  }
  findDependences();
  if (failed(readGiven()) || failed(cutByLayers()))
    return failure();
  if (cut.empty() && failed(cutByCost()))
    return failure();
  assignForward();
  assignBackward();
  return verifyOrder();
}

LogicalResult StageAssignment::readGiven() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto given = op.getAttrOfType<IntegerAttr>(kStageAttr);
    if (!given)
      continue;
    if (given.getInt() < 0 || given.getInt() >= numStages)
      return op.emitError("is on stage ")
             << given.getInt() << ", but the mesh has " << numStages
             << " stages, 0 to " << numStages - 1;
    stages[&op] = given.getInt();
  }
  return success();
}

void StageAssignment::findDependences() {
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        auto arg = dyn_cast<BlockArgument>(operand);
        Operation *source = operand.getDefiningOp();
        bool isArgument = arg && arg.getOwner() == &body;
        bool isState = isArgument &&
                       function.getArgAttr(arg.getArgNumber(), pm::kStateAttr);
        if (isState || dependsOnState.contains(source))
          dependsOnState.insert(&op);
        if ((isArgument && !isState) || dependsOnInput.contains(source))
          dependsOnInput.insert(&op);
      }
    });
}

//===----------------------------------------------------------------------===//
// The forward
//===----------------------------------------------------------------------===//

/// `model.layers.3` of `model.layers.3.mlp`: the name up to its first number;
/// "" where it has none.
static StringRef getLayer(Location loc) {
  StringRef name = pm::getModelName(loc);
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('.', begin), name.size());
    StringRef part = name.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return name.take_front(end);
    begin = end + 1;
  }
  return "";
}

/// The layers in the order of their first forward op.
static llvm::StringMap<int64_t> findLayers(func::FuncOp function) {
  llvm::StringMap<int64_t> layers;
  if (!function.isExternal() && function.getBody().hasOneBlock())
    for (Operation &op : function.getBody().front().without_terminator())
      if (isInPhase(&op, "forward"))
        if (StringRef layer = getLayer(op.getLoc()); !layer.empty())
          layers.try_emplace(layer, layers.size());
  return layers;
}

int64_t pipemesh::countLayers(func::FuncOp function) {
  return findLayers(function).size();
}

LogicalResult StageAssignment::cutByLayers() {
  llvm::StringMap<int64_t> layers = findLayers(function);
  int64_t count = layers.size();
  if (count == 0)
    return success();
  if (count < numStages)
    return function.emitError("has ")
           << count << (count == 1 ? " layer" : " layers")
           << ", which do not make " << numStages << " pipeline stages; 1 to "
           << count << " stages work";
  if (division.empty())
    llvm::append_range(division, schedule::divideEqually(count, numStages));
  SmallVector<int64_t> stageOfLayer;
  for (auto [stage, size] : llvm::enumerate(division))
    stageOfLayer.append(size, stage);
  for (Operation *op : forward)
    if (auto layer = layers.find(getLayer(op->getLoc())); layer != layers.end())
      cut[op] = stageOfLayer[layer->second];
  return success();
}

/// Contiguous pieces of the list, of which the most expensive costs as little
/// as can be: the smallest limit that greedy pieces keep, by bisection.
LogicalResult StageAssignment::cutByCost() {
  SmallVector<std::pair<Operation *, int64_t>> costs;
  for (Operation *op : forward) {
    if (!dependsOnState.contains(op) || !dependsOnInput.contains(op))
      continue;
    OpCost cost = getOpCost(op);
    costs.push_back({op, cost.flops + cost.bytesRead + cost.bytesWritten});
  }
  int64_t count = costs.size();
  if (count < numStages)
    return function.emitError("has ")
           << count << " forward ops that need state, which do not make "
           << numStages << " pipeline stages; 1 to "
           << std::max<int64_t>(count, 1) << " stages work";
  // The pieces that a limit makes; the last ones get an op each.
  auto place = [&](int64_t limit, bool record) {
    int64_t stage = 0, sum = 0;
    for (auto [index, entry] : llvm::enumerate(costs)) {
      bool leavesTooFew =
          count - static_cast<int64_t>(index) < numStages - stage;
      if (sum > 0 && (sum + entry.second > limit || leavesTooFew)) {
        ++stage;
        sum = 0;
      }
      sum += std::max<int64_t>(entry.second, 1);
      if (record)
        cut[entry.first] = std::min(stage, numStages - 1);
    }
    return stage + 1;
  };
  int64_t low = 0, high = 0;
  for (auto &[op, cost] : costs)
    high += std::max<int64_t>(cost, 1);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (place(middle, /*record=*/false) <= numStages)
      high = middle;
    else
      low = middle + 1;
  }
  place(high, /*record=*/true);
  return success();
}

std::optional<int64_t> StageAssignment::getHighestOperand(Operation *op) const {
  std::optional<int64_t> highest;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto found = stages.find(operand.getDefiningOp());
      if (found != stages.end() && dependsOnState.contains(found->first))
        highest = std::max(highest.value_or(0), found->second);
    }
  });
  return highest;
}

void StageAssignment::assignForward() {
  // A stage that an op carries holds for all that it needs.
  Block &body = function.getBody().front();
  llvm::DenseMap<Operation *, int64_t> latest;
  for (Operation *op : llvm::reverse(forward)) {
    int64_t &bound = latest[op];
    auto given = stages.find(op);
    bound = given == stages.end() ? numStages - 1 : given->second;
    for (Operation *user : op->getUsers())
      if (auto found = latest.find(body.findAncestorOpInBlock(*user));
          found != latest.end())
        bound = std::min(bound, found->second);
  }
  SmallVector<Operation *> open;
  for (Operation *op : forward) {
    if (stages.contains(op))
      continue;
    std::optional<int64_t> operands = getHighestOperand(op);
    auto own = cut.find(op);
    // A reshard stays with the value: what is sent is already in the form that
    // it is needed in.
    if (own != cut.end() && !(isa<pm::ReshardOp>(op) && operands))
      stages[op] = std::max(std::min(own->second, latest.lookup(op)),
                            operands.value_or(0));
    else if (operands)
      stages[op] = *operands;
    else
      open.push_back(op);
  }
  // What is in front of everything goes to whom needs it first.
  for (Operation *op : llvm::reverse(open)) {
    std::optional<int64_t> lowest;
    for (Operation *user : op->getUsers()) {
      auto found =
          stages.find(function.getBody().front().findAncestorOpInBlock(*user));
      if (found != stages.end())
        lowest = std::min(lowest.value_or(found->second), found->second);
    }
    stages[op] = lowest.value_or(0);
  }
}

//===----------------------------------------------------------------------===//
// The backward
//===----------------------------------------------------------------------===//

/// The stages where the forward op of a backward op may be, by what it reads: a
/// value of the forward is read by the gradient of the op that makes it or of
/// one that uses it; state by the gradient of one that uses it.
StageAssignment::StageSet
StageAssignment::getForwardStages(Operation *backward) {
  StageSet common;
  bool first = true;
  for (Value operand : backward->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source &&
        (!isInPhase(source, "forward") || !dependsOnState.contains(source)))
      continue;
    if (auto arg = dyn_cast<BlockArgument>(operand))
      if (!function.getArgAttr(arg.getArgNumber(), pm::kStateAttr))
        continue;
    StageSet near;
    if (source)
      near.insert(stages.lookup(source));
    for (Operation *user : operand.getUsers())
      if (isInPhase(user, "forward") && stages.contains(user))
        near.insert(stages.lookup(user));
    StageSet both;
    for (int64_t stage : near)
      if (first || common.contains(stage))
        both.insert(stage);
    if (!both.empty()) {
      common = both;
      first = false;
    }
  }
  return common;
}

void StageAssignment::assignBackward() {
  llvm::DenseMap<Location, StageSet> byLocation;
  llvm::StringMap<StageSet> byLayer;
  for (Operation *op : forward)
    if (dependsOnState.contains(op)) {
      if (!isa<UnknownLoc>(op->getLoc()))
        byLocation[op->getLoc()].insert(stages.lookup(op));
      if (StringRef layer = getLayer(op->getLoc()); !layer.empty())
        byLayer[layer].insert(stages.lookup(op));
    }
  for (Operation *op : backward) {
    if (stages.contains(op))
      continue;
    // Gradients come from the last stage down.
    int64_t highest = numStages - 1;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (isInPhase(source, "backward") && dependsOnState.contains(source))
          highest = std::min(highest, stages.lookup(source));
    StageSet candidates;
    if (auto found = byLocation.find(op->getLoc()); found != byLocation.end())
      candidates = found->second;
    else if (auto layer = byLayer.find(getLayer(op->getLoc()));
             layer != byLayer.end())
      candidates = layer->second;
    else
      candidates = getForwardStages(op);
    std::optional<int64_t> best;
    for (int64_t stage : candidates)
      if (stage <= highest)
        best = std::max(best.value_or(0), stage);
    stages[op] = best.value_or(highest);
  }
}

/// Given stages may contradict what their ops need.
LogicalResult StageAssignment::verifyOrder() {
  for (ArrayRef<Operation *> ops : {ArrayRef(forward), ArrayRef(backward)})
    for (Operation *op : ops)
      for (Value operand : op->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || !stages.contains(source) ||
            !dependsOnState.contains(source))
          continue;
        bool isForward = isInPhase(op, "forward");
        if (isInPhase(source, "forward") != isForward)
          continue;
        int64_t from = stages.lookup(source), to = stages.lookup(op);
        if (isForward ? from <= to : from >= to)
          continue;
        InFlightDiagnostic diagnostic = op->emitError("is on stage ")
                                        << to << " of the "
                                        << (isForward ? "forward" : "backward")
                                        << ", but needs a result of stage "
                                        << from << ", which runs after it";
        diagnostic.attachNote(source->getLoc()) << "the result is made here";
        return diagnostic;
      }
  return success();
}
