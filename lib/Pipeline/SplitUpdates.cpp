//===- SplitUpdates.cpp - results, reduces and updates of the stages ------===//

#include "Splitter.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

std::optional<unsigned> Splitter::findStateArgument(unsigned resultIndex) {
  Attribute state = function.getResultAttr(resultIndex, pm::kStateAttr);
  if (!state)
    return {};
  // Asked for each result, of which a large model has thousands.
  if (stateArguments.empty())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (Attribute held = function.getArgAttr(i, pm::kStateAttr))
        stateArguments.try_emplace(held, i);
  auto found = stateArguments.find(state);
  return found == stateArguments.end() ? std::nullopt
                                       : std::optional<unsigned>(found->second);
}

void Splitter::addResults(bool ofUpdates) {
  for (OpOperand &operand : getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Operation *op = operand.get().getDefiningOp();
    bool isLate = !op || placement.isAfterMicroBatches(op);
    if (isLate != ofUpdates)
      continue;
    if (!isLate) {
      const OpPlacement &placed = placement.of(op);
      fragment(placed.home, placed.stage).results.push_back(index);
      continue;
    }
    if (!op) {
      unsigned arg = cast<BlockArgument>(operand.get()).getArgNumber();
      // State that does not change stays in its buffer.
      if (findStateArgument(index) == arg)
        continue;
      auto held = holders.find(arg);
      int64_t stage =
          held == holders.end() ? 0 : std::max(held->second.find_first(), 0);
      fragment(FragmentKind::Update, stage).results.push_back(index);
      continue;
    }
    if (numStages == 1)
      fragment(FragmentKind::Update, 0).results.push_back(index);
    else
      addUpdateResult(index, late->of(op));
  }
}

/// New state is computed wherever the state lives; anything else once, on the
/// lowest stage that can.
void Splitter::addUpdateResult(unsigned index, const LateOp &late) {
  Operation *op = getTerminator()->getOperand(index).getDefiningOp();
  if (auto arg = findStateArgument(index))
    if (auto held = holders.find(*arg); held != holders.end()) {
      for (unsigned stage : held->second.set_bits()) {
        Fragment &update = fragment(FragmentKind::Update, stage);
        update.results.push_back(index);
        update.newState.insert(op);
      }
      return;
    }
  int64_t home = late.getHome();
  if (home < 0 && late.dependsOnState)
    home = late.statePlaces.find_first();
  FragmentKind kind = late.category == LateOp::Category::Plain
                          ? FragmentKind::Update
                          : FragmentKind::Reduce;
  fragment(kind, std::max<int64_t>(home, 0)).results.push_back(index);
}

LogicalResult Splitter::collectForUpdates() {
  llvm::SetVector<Operation *> late;
  for (Value value : getTerminator()->getOperands())
    if (Operation *op = value.getDefiningOp())
      if (placement.isAfterMicroBatches(op))
        late.insert(op);
  for (unsigned i = 0; i < late.size(); ++i) {
    WalkResult walked = late[i]->walk([&](Operation *inner) -> WalkResult {
      for (Value operand : inner->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || source->getParentOp() != function)
          continue;
        const OpPlacement &placed = placement.of(source);
        if (placed.home == FragmentKind::Update) {
          late.insert(source);
          continue;
        }
        if (placed.cloned || placed.isStateless)
          continue;
        if (failed(checkAccumulated(operand, FragmentKind::Reduce)))
          return failure();
        fragment(placed.home, placed.stage).writes.insert(operand);
        forUpdates.insert(operand);
      }
      return success();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

/// A state lives on the stages that read it before the update. One that only
/// updates read lives with the parameter of its name, or with what its new
/// value is computed from; the step counter is kept by every stage.
void Splitter::findStateHolders() {
  llvm::StringMap<llvm::SmallBitVector> ofParameters;
  SmallVector<unsigned> open;
  auto stateOf = [&](unsigned arg) {
    return function.getArgAttrOfType<pm::StateAttr>(arg, pm::kStateAttr);
  };
  for (BlockArgument arg : function.getArguments()) {
    unsigned index = arg.getArgNumber();
    pm::StateAttr state = stateOf(index);
    if (!state)
      continue;
    llvm::SmallBitVector ranks(numRanks);
    for (const Fragment &fragment : fragments)
      if (fragment.reads.contains(arg))
        ranks.set(fragment.kind > FragmentKind::Backward
                      ? fragment.stage
                      : rankOfStage[fragment.stage]);
    if (state.getKind() == pm::StateKind::Step && ranks.none())
      ranks.set();
    if (ranks.none()) {
      open.push_back(index);
      continue;
    }
    holders[index] = ranks;
    if (state.getKind() == pm::StateKind::Parameter)
      ofParameters[state.getName().getValue()] = ranks;
  }
  SmallVector<unsigned> others;
  for (unsigned index : open) {
    auto found = ofParameters.find(stateOf(index).getName().getValue());
    if (found != ofParameters.end())
      holders[index] = found->second;
    else
      others.push_back(index);
  }
  if (others.empty())
    return;
  LatePlaces places(function, placement, rankOfStage, numRanks, holders);
  llvm::SmallBitVector first(numRanks);
  first.set(0);
  for (unsigned index : others)
    for (OpOperand &operand : getTerminator()->getOpOperands()) {
      if (findStateArgument(operand.getOperandNumber()) != index)
        continue;
      Operation *op = operand.get().getDefiningOp();
      const LateOp *found = op ? places.lookup(op) : nullptr;
      bool isSome = found && found->places.any() && !found->places.all();
      holders[index] = isSome ? found->places : first;
    }
}

LogicalResult Splitter::demandUpdates() {
  for (Fragment &fragment : llvm::reverse(fragments))
    if (fragment.kind == FragmentKind::Update && failed(demandAll(fragment)))
      return failure();
  return success();
}

FailureOr<bool> Splitter::placeUpdates() {
  SmallVector<Fragment> before = fragments;
  late.emplace(function, placement, rankOfStage, numRanks, holders);
  shipped.clear();
  missing.reset();
  addResults(/*ofUpdates=*/true);
  // First to find what updates need of other stages' reduces: what a reduce
  // computes for others its own update reads too.
  if (failed(demandUpdates()))
    return failure();
  for (Fragment &fragment : fragments) {
    if (fragment.kind == FragmentKind::Reduce) {
      shipped.insert(fragment.writes.begin(), fragment.writes.end());
      fragment.writes.clear();
    } else if (fragment.kind == FragmentKind::Update) {
      fragment.ops.clear();
      fragment.reads.clear();
      fragment.sources.clear();
    }
  }
  if (failed(demandUpdates()))
    return failure();
  for (Fragment &fragment : fragments)
    if (fragment.kind == FragmentKind::Reduce && failed(demandAll(fragment)))
      return failure();
  if (!missing)
    return true;
  fragments = before;
  holders[missing->first].set(missing->second);
  return false;
}
