//===- CombineCollectives.cpp - equal exchanges, and buckets --------------===//

#include "ShardingAlgebra.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "pipemesh/Shard/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace pipemesh {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
/// What the members of a bucket share.
struct Key {
  Attribute axes, kind;
  Type element;
  bool operator==(const Key &other) const {
    return axes == other.axes && kind == other.kind && element == other.element;
  }
};

/// All-reduces that become one, and the ops that wait for their results.
class Bucket {
public:
  bool empty() const { return members.empty(); }

  bool accepts(pm::AllReduceOp op, int64_t limit) const {
    return bytes + bytesOf(op) <= limit &&
           llvm::none_of(op.getInputs(),
                         [&](Value input) { return waits(input); });
  }
  void add(pm::AllReduceOp op) {
    members.push_back(op);
    bytes += bytesOf(op);
    waitingBeforeLast = waiting.size();
  }
  /// Notes whether the op, which stands behind the members, waits for them.
  void see(Operation *op) {
    bool depends = false;
    op->walk([&](Operation *inner) {
      depends |= llvm::any_of(inner->getOperands(),
                              [&](Value value) { return waits(value); });
    });
    if (depends)
      waiting.insert(op);
  }
  /// Merges the members at the place of the last one.
  void close();

private:
  static int64_t bytesOf(pm::AllReduceOp op) {
    int64_t bytes = 0;
    for (Type type : op.getInputs().getTypes())
      bytes += byteSizeOf(type);
    return bytes;
  }
  bool waits(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && (waiting.contains(op) ||
                  llvm::is_contained(members, dyn_cast<pm::AllReduceOp>(op)));
  }

  SmallVector<pm::AllReduceOp> members;
  llvm::SetVector<Operation *> waiting;
  /// How many of those stand in front of the last member. Asking the block for
  /// the order instead would make it count anew after each merge.
  size_t waitingBeforeLast = 0;
  int64_t bytes = 0;
};
} // namespace

void Bucket::close() {
  if (members.size() > 1) {
    pm::AllReduceOp last = members.back();
    SmallVector<Value> inputs;
    SmallVector<Location> locations;
    for (pm::AllReduceOp member : members) {
      llvm::append_range(inputs, member.getInputs());
      locations.push_back(member.getLoc());
    }
    OpBuilder builder(last);
    auto merged = pm::AllReduceOp::create(
        builder, builder.getFusedLoc(locations), ValueRange(inputs).getTypes(),
        inputs, last.getKindAttr(), last.getAxesAttr(), last.getMeshAttr());
    if (Attribute phase = last->getAttr(pm::kPhaseAttr))
      merged->setAttr(pm::kPhaseAttr, phase);
    // What waits in front of the merged op goes behind it, in the old order.
    Operation *place = merged;
    for (Operation *op : waiting.getArrayRef().take_front(waitingBeforeLast)) {
      op->moveAfter(place);
      place = op;
    }
    unsigned index = 0;
    for (pm::AllReduceOp member : members) {
      for (Value result : member.getResults())
        result.replaceAllUsesWith(merged.getResult(index++));
      member.erase();
    }
  }
  members.clear();
  waiting.clear();
  waitingBeforeLast = 0;
  bytes = 0;
}

static Key keyOf(pm::AllReduceOp op) {
  return {op.getAxesAttr(), op.getKindAttr(),
          cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType()};
}

static bool isUniform(pm::AllReduceOp op) {
  return llvm::all_of(op.getInputs().getTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getElementType() == keyOf(op).element;
  });
}

static bool isCollective(Operation &op) {
  return isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
             pm::AllToAllOp, pm::CollectivePermuteOp>(op);
}

/// What is exchanged once serves all that need it: collectives of the same
/// operands become one, and what depends on them in the same way with them.
static void shareEqual(Block &block) {
  llvm::DenseMap<Value, SmallVector<Operation *, 2>> byOperand;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isCollective(op) || op.getNumOperands() == 0)
      continue;
    SmallVector<Operation *, 2> &known = byOperand[op.getOperand(0)];
    auto *same = llvm::find_if(known, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(
          &op, other,
          OperationEquivalence::IgnoreLocations |
              OperationEquivalence::IgnoreDiscardableAttrs);
    });
    if (same == known.end()) {
      known.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*same);
    op.erase();
  }
}

static void combine(Block &block, int64_t limit) {
  shareEqual(block);
  SmallVector<Key> keys;
  for (auto op : block.getOps<pm::AllReduceOp>())
    if (isUniform(op) && !llvm::is_contained(keys, keyOf(op)))
      keys.push_back(keyOf(op));
  for (const Key &key : keys) {
    Bucket bucket;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto reduce = dyn_cast<pm::AllReduceOp>(op);
      if (!reduce || !isUniform(reduce) || !(keyOf(reduce) == key)) {
        if (!bucket.empty())
          bucket.see(&op);
        continue;
      }
      if (!bucket.empty() && !bucket.accepts(reduce, limit))
        bucket.close();
      bucket.add(reduce);
    }
    bucket.close();
  }
}

namespace {
class CombineCollectives
    : public pipemesh::impl::CombineCollectivesPassBase<CombineCollectives> {
public:
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) { combine(*block, bucketBytes); });
  }
};
} // namespace
