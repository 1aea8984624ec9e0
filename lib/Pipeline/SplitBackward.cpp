//===- SplitBackward.cpp - backward ops of I and of W ---------------------===//

#include "Placement.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pipemesh;
using pm::FragmentKind;

namespace {
/// The backward ops of a step and what reads them.
class BackwardSplit {
public:
  BackwardSplit(func::FuncOp function, const Placement &placement)
      : function(function), placement(placement) {
    for (Operation &op : function.getBody().front().without_terminator())
      if (placement.of(&op).home == FragmentKind::Backward)
        ops.push_back(&op);
  }

  llvm::SetVector<Operation *> findInputGradients() {
    findSent();
    findShared();
    // What they need themselves, wherever it is in the backward.
    for (unsigned i = 0; i < ofInputs.size(); ++i)
      ofInputs[i]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (isBackward(operand.getDefiningOp()))
            ofInputs.insert(operand.getDefiningOp());
      });
    return std::move(ofInputs);
  }

  ArrayRef<Operation *> getOps() const { return ops; }

private:
  bool isBackward(Operation *op) const {
    return op && op->getParentOp() == function &&
           placement.of(op).home == FragmentKind::Backward;
  }
  Operation *getUser(Operation *inner) {
    return function.getBody().front().findAncestorOpInBlock(*inner);
  }
  void findSent();
  void findShared();

  func::FuncOp function;
  const Placement &placement;
  SmallVector<Operation *> ops;
  llvm::SetVector<Operation *> ofInputs;
};
} // namespace

/// What the backward of another stage reads.
void BackwardSplit::findSent() {
  for (Operation *op : ops) {
    const OpPlacement &placed = placement.of(op);
    if (!placed.isStateless &&
        llvm::any_of(op->getUsers(), [&](Operation *inner) {
          Operation *user = getUser(inner);
          return isBackward(user) && !placement.of(user).isStateless &&
                 placement.of(user).stage != placed.stage;
        }))
      ofInputs.insert(op);
  }
}

/// On stages that send nothing, what leads to more than one sum over the
/// micro-batches: the chain of gradients through the layers, not the products
/// that end in one weight's.
void BackwardSplit::findShared() {
  llvm::DenseSet<int64_t> sending;
  for (Operation *op : ofInputs)
    sending.insert(placement.of(op).stage);
  struct Sums {
    Operation *only = nullptr;
    bool several = false;
  };
  llvm::DenseMap<Operation *, Sums> reached;
  for (Operation *op : llvm::reverse(ops)) {
    Sums &sums = reached[op];
    auto add = [&](Operation *sum) {
      sums.several |= sums.only && sum && sums.only != sum;
      sums.only = sum ? sum : sums.only;
    };
    bool isPartial = false;
    for (Value result : op->getResults())
      isPartial |= placement.isPartial(result);
    for (Operation *inner : op->getUsers()) {
      Operation *user = getUser(inner);
      if (!isBackward(user)) {
        add(op);
        continue;
      }
      Sums of = reached.lookup(user);
      add(of.only);
      sums.several |= of.several;
    }
    const OpPlacement &placed = placement.of(op);
    if (sums.several && !isPartial && !placed.isStateless &&
        !sending.contains(placed.stage))
      ofInputs.insert(op);
  }
}

void Placement::splitBackward(func::FuncOp function) {
  BackwardSplit split(function, *this);
  llvm::SetVector<Operation *> ofInputs = split.findInputGradients();
  for (Operation *op : split.getOps())
    placements[op].home = ofInputs.contains(op) ? FragmentKind::InputGradient
                                                : FragmentKind::WeightGradient;
}
