//===- Recompute.cpp - what a backward computes again ---------------------===//

#include "Splitter.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

/// Whether the backward fragment can compute the value, by elementwise ops
/// only, from what it reads or computes anyhow; `chain` gets the ops.
bool Splitter::canRecompute(const Fragment &backward, Value value,
                            llvm::SetVector<Operation *> &chain) const {
  constexpr unsigned longest = 16;
  Operation *op = value.getDefiningOp();
  const OpPlacement &placed = placement.of(op);
  if (chain.contains(op))
    return true;
  bool isOwn = placed.isStateless || placed.stage == backward.stage;
  if (chain.size() >= longest || placed.home != FragmentKind::Forward ||
      !isOwn || !(op->hasTrait<stablehlo::Elementwise>() || placed.isView))
    return false;
  chain.insert(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !source || backward.reads.contains(operand) ||
           backward.ops.contains(source) || placement.of(source).cloned ||
           canRecompute(backward, operand, chain);
  });
}

/// An activation function's inner values, such as the logistic of a gate: where
/// the backward reads what they are computed from anyhow, and uses them in
/// elementwise ops only, which one loop computes together, saving them would
/// cost more memory traffic than computing them again. What a matrix product
/// reads has to be in memory, and is saved.
void Splitter::recompute(Fragment &backward) {
  unsigned forward = indexOf(FragmentKind::Forward, backward.stage);
  SmallVector<Value> saved;
  for (Value value : backward.reads)
    if (auto source = backward.sources.find(value);
        source != backward.sources.end() && source->second == forward)
      saved.push_back(value);
  llvm::sort(saved, [&](Value a, Value b) {
    return placement.of(a.getDefiningOp()).order <
           placement.of(b.getDefiningOp()).order;
  });
  for (Value value : saved) {
    bool hasOtherReader =
        forUpdates.contains(value) ||
        llvm::any_of(fragments, [&](const Fragment &other) {
          return &other != &backward && other.reads.contains(value);
        });
    if (value.getDefiningOp()->getNumResults() != 1 || hasOtherReader)
      continue;
    bool inLoops = llvm::all_of(value.getUsers(), [&](Operation *user) {
      return !backward.ops.contains(user) ||
             user->hasTrait<stablehlo::Elementwise>();
    });
    llvm::SetVector<Operation *> chain;
    if (!inLoops || !canRecompute(backward, value, chain))
      continue;
    backward.reads.remove(value);
    backward.sources.erase(value);
    fragments[forward].writes.remove(value);
    for (Operation *again : chain) {
      backward.ops.insert(again);
      for (Value operand : again->getOperands())
        // What the chain starts from is read or cloned already, or state.
        if (Operation *source = operand.getDefiningOp();
            !source || placement.of(source).cloned)
          (void)demand(backward, operand);
    }
  }
}
