//===- RegroupSums.cpp - sums over stages, by stage -----------------------===//

#include "LatePlaces.h"
#include "mlir/IR/Builders.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

/// Whether the op makes a sum over ranks whole and leaves it where it is.
static bool isCompletion(Operation *op) {
  auto reshard = dyn_cast_or_null<pm::ReshardOp>(op);
  return reshard && reshard.getSource().isPartial() &&
         reshard.getSource().getPartialKind() == pm::ReductionKind::Sum &&
         reshard.getSource().withoutPartial() == reshard.getTarget();
}

namespace {
/// A term of a sum: the value, and the reshards that it goes through on the way
/// to the total, the last first.
struct Term {
  Value value;
  SmallVector<pm::ReshardOp> path;
};

class SumTree {
public:
  explicit SumTree(const LatePlaces &places) : places(places) {}

  /// An op that adds complete values, or makes a sum over ranks whole.
  bool isInner(Operation *op) const {
    const LateOp *late = op ? places.lookup(op) : nullptr;
    return late && late->category == LateOp::Category::Plain &&
           (isa<stablehlo::AddOp>(op) || isCompletion(op));
  }
  bool joinsStages(Operation *op) const {
    return isInner(op) && places.of(op).places.none();
  }

  /// Walks down from the total to the terms. What a term goes through on the
  /// way is done to the sum of its stage, so that it is done once.
  void collect(Value value, ArrayRef<pm::ReshardOp> path, bool isRoot = false) {
    Operation *op = value.getDefiningOp();
    if (!isInner(op) || !(isRoot || value.hasOneUse())) {
      terms.push_back({value, llvm::to_vector(path)});
      return;
    }
    SmallVector<pm::ReshardOp> through(path);
    if (auto reshard = dyn_cast<pm::ReshardOp>(op))
      through.push_back(reshard);
    for (Value operand : op->getOperands())
      collect(operand, through);
  }

  /// The stage of a term; behind all others what every stage has, or has to
  /// put together itself.
  int64_t stageOf(Value value) const {
    const LateOp *late = places.lookup(value.getDefiningOp());
    return late && late->places.count() == 1 ? late->getHome()
                                             : places.getNumRanks();
  }

  Value rebuild(Operation *root);

  SmallVector<Term> terms;

private:
  /// `a + b` with the attributes of an op of the tree.
  Value add(Value a, Value b, Operation *like) {
    if (!a)
      return b;
    OpBuilder builder(like);
    Operation *sum = builder.clone(*like);
    sum->setOperands({a, b});
    pm::setSharding(sum->getResult(0), pm::getSharding(a));
    return sum->getResult(0);
  }

  const LatePlaces &places;
};
} // namespace

Value SumTree::rebuild(Operation *root) {
  // Sums of the terms of one stage that lie alike and take the same way.
  std::map<int64_t, llvm::MapVector<Attribute, SmallVector<Term *>>> stages;
  for (Term &term : terms) {
    SmallVector<Attribute> way{pm::getSharding(term.value)};
    for (pm::ReshardOp reshard : llvm::reverse(term.path))
      llvm::append_values(way, reshard.getSource(), reshard.getTarget());
    stages[stageOf(term.value)][ArrayAttr::get(root->getContext(), way)]
        .push_back(&term);
  }
  Value total;
  for (auto &[stage, groups] : stages) {
    Value ofStage;
    for (auto &[way, members] : groups) {
      Value sum;
      for (Term *term : members)
        sum = add(sum, term->value, root);
      for (pm::ReshardOp reshard : llvm::reverse(members.front()->path)) {
        OpBuilder builder(root);
        Operation *copy = builder.clone(*reshard);
        copy->setOperand(0, sum);
        sum = copy->getResult(0);
      }
      ofStage = add(ofStage, sum, root);
    }
    total = add(total, ofStage, root);
  }
  return total;
}

bool pipemesh::regroupSums(func::FuncOp function, const LatePlaces &places) {
  SmallVector<Operation *> roots;
  SumTree probe(places);
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isa<stablehlo::AddOp>(op) || !probe.joinsStages(&op))
      continue;
    Value result = op.getResult(0);
    if (!result.hasOneUse() || !probe.joinsStages(*result.getUsers().begin()))
      roots.push_back(&op);
  }
  bool changed = false;
  for (Operation *root : roots) {
    SumTree tree(places);
    tree.collect(root->getResult(0), {}, /*isRoot=*/true);
    if (tree.terms.size() < 3)
      continue;
    root->getResult(0).replaceAllUsesWith(tree.rebuild(root));
    changed = true;
  }
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (changed && op->use_empty() && probe.isInner(op))
      op->erase();
  return changed;
}
