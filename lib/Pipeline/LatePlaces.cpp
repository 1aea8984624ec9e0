//===- LatePlaces.cpp - stages that can compute an op of the update -------===//

#include "LatePlaces.h"

using namespace mlir;
using namespace pipemesh;

LatePlaces::LatePlaces(func::FuncOp function, const Placement &placement,
                       ArrayRef<int64_t> rankOfStage, int64_t numRanks,
                       const StateHolders &holders)
    : numRanks(numRanks) {
  using Category = LateOp::Category;
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (!placement.isAfterMicroBatches(&op))
      continue;
    LateOp late;
    late.places.resize(numRanks, true);
    late.statePlaces.resize(numRanks, true);
    bool readsParts = false;
    llvm::SmallBitVector lowest(numRanks);
    auto restrict = [&](const llvm::SmallBitVector &ranks) {
      late.places &= ranks;
      if (ranks.any() && !ranks.all())
        lowest.set(ranks.find_first());
    };
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto arg = dyn_cast<BlockArgument>(operand)) {
          auto held = arg.getOwner() == &body ? holders.find(arg.getArgNumber())
                                              : holders.end();
          if (held == holders.end())
            continue;
          late.dependsOnState = true;
          late.statePlaces &= held->second;
          restrict(held->second);
          continue;
        }
        Operation *source = operand.getDefiningOp();
        if (source->getParentOp() != function)
          continue;
        if (const LateOp *from = lookup(source)) {
          readsParts |= from->category == Category::Partial;
          restrict(from->places);
          if (from->category == Category::Plain && from->dependsOnState) {
            late.dependsOnState = true;
            late.statePlaces &= from->statePlaces;
          }
          continue;
        }
        const OpPlacement &placed = placement.of(source);
        // A prologue's value is sent to any stage, and what needs no state is
        // computed on any.
        if (placed.home == pm::FragmentKind::Prologue || placed.isStateless)
          continue;
        llvm::SmallBitVector only(numRanks);
        only.set(rankOfStage[placed.stage]);
        readsParts |= placement.isPartial(operand) || placement.isCut(operand);
        restrict(only);
      }
    });
    bool isPartial = llvm::any_of(op.getResults(), [&](Value result) {
      return placement.isPartial(result);
    });
    if (isPartial)
      late.category = Category::Partial;
    else if (readsParts && isa<pm::ReshardOp>(op))
      late.category = Category::Sum;
    if (late.category != Category::Plain) {
      // The parts of other stages are sent to the lowest one.
      int64_t home = std::max(lowest.find_first(), 0);
      late.places.reset();
      late.places.set(home);
    }
    ops[&op] = late;
  }
}
