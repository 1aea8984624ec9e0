//===- Splitter.cpp - the ops of every fragment ---------------------------===//

#include "Splitter.h"
#include "Stage.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

Splitter::Splitter(func::FuncOp function, pm::MeshOp mesh,
                   SmallVector<int64_t> ranks, SplitOptions options)
    : function(function), rankOfStage(std::move(ranks)),
      numStages(rankOfStage.size()), numRanks(getNumPipelineRanks(mesh)),
      options(options), mesh(mesh) {
  auto add = [&](FragmentKind kind, bool fromLast = false) {
    int64_t count = kind > FragmentKind::Backward ? numRanks : numStages;
    for (int64_t i = 0; i < count; ++i) {
      Fragment fragment;
      fragment.kind = kind;
      fragment.stage = fromLast ? count - 1 - i : i;
      fragments.push_back(fragment);
    }
  };
  add(FragmentKind::Prologue);
  add(FragmentKind::Forward);
  if (options.splitsBackward) {
    add(FragmentKind::InputGradient, /*fromLast=*/true);
    add(FragmentKind::WeightGradient, /*fromLast=*/true);
  } else {
    add(FragmentKind::Backward, /*fromLast=*/true);
  }
  if (numStages > 1)
    add(FragmentKind::Reduce);
  add(FragmentKind::Update);
}

unsigned Splitter::indexOf(FragmentKind kind, int64_t stage) const {
  return llvm::find_if(fragments,
                       [&](const Fragment &fragment) {
                         return fragment.kind == kind &&
                                fragment.stage == stage;
                       }) -
         fragments.begin();
}

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

static bool isBackward(FragmentKind kind) {
  return kind == FragmentKind::Backward ||
         kind == FragmentKind::InputGradient ||
         kind == FragmentKind::WeightGradient;
}

static bool isPerMicroBatch(FragmentKind kind) {
  return kind == FragmentKind::Forward || isBackward(kind);
}

Splitter::Source Splitter::find(const Fragment &needing, Value value) const {
  Operation *op = value.getDefiningOp();
  const OpPlacement &placed = placement.of(op);
  if (placed.cloned)
    return {};
  if (placed.home == FragmentKind::Update) {
    if (needing.kind < getSumKind())
      return indexOf(FragmentKind::Update, 0);
    return numStages == 1 ? Source() : findLate(needing, value, late->of(op));
  }
  int64_t stage = placed.isStateless ? needing.stage : placed.stage;
  FragmentKind kind = placed.home;
  if (options.recomputes && kind == FragmentKind::Forward &&
      isBackward(needing.kind) && stage == needing.stage) {
    if (needing.kind != FragmentKind::WeightGradient)
      return {};
    kind = FragmentKind::InputGradient;
  }
  unsigned home = indexOf(kind, stage), own = indexOf(needing);
  if (home == own)
    return {};
  // What a prologue needs of the micro-batches' ops, it computes for all.
  if (needing.kind == FragmentKind::Prologue &&
      (placed.home != FragmentKind::Prologue || stage > needing.stage))
    return {};
  // A view of another fragment's value is made again. So is a partial value:
  // the buffer of one would hold the sum over the micro-batches.
  if (home < own && isPerMicroBatch(needing.kind) &&
      isPerMicroBatch(placed.home) &&
      (placed.isView || placement.isPartial(value)))
    return {};
  return home;
}

Splitter::Source Splitter::findLate(const Fragment &needing, Value value,
                                    const LateOp &late) const {
  int64_t stage = needing.stage;
  if (needing.kind == FragmentKind::Reduce)
    return {};
  bool isComplete = late.category == LateOp::Category::Plain;
  if (isComplete && needing.newState.contains(value.getDefiningOp()))
    return {};
  unsigned reduce =
      indexOf(FragmentKind::Reduce, std::max<int64_t>(late.getHome(), 0));
  if (!isComplete || (shipped.contains(value) && late.getHome() == stage))
    return reduce;
  bool hasState = late.dependsOnState && late.statePlaces.test(stage);
  if (late.places.none() || late.places.test(stage) || hasState)
    return {};
  return reduce;
}

LogicalResult Splitter::checkAccumulated(Value value,
                                         FragmentKind needing) const {
  pm::ReductionKind kind = pm::getSharding(value).getPartialKind();
  if (!placement.isPartial(value) || kind == pm::ReductionKind::Sum)
    return success();
  return value.getDefiningOp()->emitError("is a ")
         << pm::stringifyReductionKind(kind) << " over micro-batches that the "
         << pm::stringifyFragmentKind(needing)
         << " fragment needs, but only sums can be accumulated over a temporal "
            "axis";
}

LogicalResult Splitter::demand(Fragment &needing, Value first) {
  SmallVector<Value> work{first};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op) {
      // An argument, or one of a region of an op in the fragment.
      auto arg = cast<BlockArgument>(value);
      if (arg.getOwner()->getParentOp() != function)
        continue;
      needing.reads.insert(value);
      if (auto held = holders.find(arg.getArgNumber());
          needing.kind > FragmentKind::Backward && held != holders.end() &&
          !held->second.test(needing.stage))
        missing = {arg.getArgNumber(), needing.stage};
      continue;
    }
    if (op->getParentOp() != function || needing.ops.contains(op))
      continue;
    if (Source source = find(needing, value)) {
      const Fragment &from = fragments[*source];
      if (*source > indexOf(needing)) {
        InFlightDiagnostic diagnostic = op->emitError("belongs to the ");
        diagnostic << pm::stringifyFragmentKind(from.kind) << " fragment";
        if (from.stage != needing.stage)
          diagnostic << " of stage " << from.stage;
        diagnostic << ", but the " << pm::stringifyFragmentKind(needing.kind)
                   << " fragment";
        if (from.stage != needing.stage)
          diagnostic << " of stage " << needing.stage;
        return diagnostic << ", which runs before it, needs its result";
      }
      if (failed(checkAccumulated(value, needing.kind)))
        return failure();
      needing.reads.insert(value);
      needing.sources[value] = *source;
      fragments[*source].writes.insert(value);
      continue;
    }
    needing.ops.insert(op);
    op->walk([&](Operation *inner) {
      llvm::append_range(work, inner->getOperands());
    });
  }
  return success();
}

LogicalResult Splitter::demandAll(Fragment &fragment) {
  for (unsigned index : fragment.results)
    if (failed(demand(fragment, getTerminator()->getOperand(index))))
      return failure();
  for (Value value : SmallVector<Value>(fragment.writes.getArrayRef()))
    if (failed(demand(fragment, value)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

LogicalResult Splitter::run() {
  if (failed(placement.run(function, mesh)))
    return failure();
  if (numStages > 1) {
    LatePlaces places(function, placement, rankOfStage, numRanks, holders);
    if (regroupSums(function, places) && failed(placement.run(function, mesh)))
      return failure();
  }
  if (options.splitsBackward)
    placement.splitBackward(function);
  // Later fragments say what they need of earlier ones. Which stages update a
  // state is known when it is known which read it.
  addResults(/*ofUpdates=*/false);
  if (numStages == 1) {
    addResults(/*ofUpdates=*/true);
    if (failed(demandAll(fragment(FragmentKind::Update, 0))))
      return failure();
  } else if (failed(collectForUpdates())) {
    return failure();
  }
  bool isRecomputed = !options.splitsBackward;
  for (Fragment &current : llvm::reverse(fragments)) {
    if (current.kind > FragmentKind::Backward)
      continue;
    // What I and W both read is known when both are.
    if (!isRecomputed && !isBackward(current.kind)) {
      for (Fragment &fragment : fragments)
        if (isBackward(fragment.kind))
          recompute(fragment);
      isRecomputed = true;
    }
    if (failed(demandAll(current)))
      return failure();
    if (current.kind == FragmentKind::Backward)
      recompute(current);
  }
  if (numStages == 1)
    return success();
  findStateHolders();
  for (bool done = false; !done;) {
    FailureOr<bool> placed = placeUpdates();
    if (failed(placed))
      return failure();
    done = *placed;
  }
  // Updates may need what each stage computes for itself.
  for (Fragment &current : llvm::reverse(fragments))
    if (current.kind <= FragmentKind::Backward && failed(demandAll(current)))
      return failure();
  return success();
}
