//===- CombineCollectives.cpp - equal exchanges, and buckets --------------===//

#include "PackedCollectives.h"
#include "ShardingAlgebra.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "pipemesh/Shard/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace pipemesh {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
/// What the members of a bucket share.
struct Key {
  OperationName op;
  Attribute axes, kind;
  Type element;
  bool operator==(const Key &other) const {
    return op == other.op && axes == other.axes && kind == other.kind &&
           element == other.element;
  }
};

/// Collectives that become one, and the ops that wait for their results.
class Bucket {
public:
  bool empty() const { return members.empty(); }

  bool accepts(Operation *op, int64_t limit) const {
    return bytes + bytesOf(op) <= limit &&
           llvm::none_of(op->getOperands(),
                         [&](Value input) { return waits(input); });
  }
  void add(Operation *op) {
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
  void close(pm::MeshOp mesh);

  /// Of the larger side: what is gathered, or scattered.
  static int64_t bytesOf(Operation *op) {
    int64_t operands = 0, results = 0;
    for (Type type : op->getOperandTypes())
      operands += byteSizeOf(type);
    for (Type type : op->getResultTypes())
      results += byteSizeOf(type);
    return std::max(operands, results);
  }

private:
  bool waits(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && (waiting.contains(op) || llvm::is_contained(members, op));
  }

  SmallVector<Operation *> members;
  llvm::SetVector<Operation *> waiting;
  /// How many of those stand in front of the last member. Asking the block for
  /// the order instead would make it count anew after each merge.
  size_t waitingBeforeLast = 0;
  int64_t bytes = 0;
};
} // namespace

static SmallVector<Value> mergeReduces(OpBuilder &builder, Location loc,
                                       ArrayRef<Operation *> members) {
  auto last = cast<pm::AllReduceOp>(members.back());
  SmallVector<Value> inputs;
  for (Operation *member : members)
    llvm::append_range(inputs, member->getOperands());
  auto merged = pm::AllReduceOp::create(
      builder, loc, ValueRange(inputs).getTypes(), inputs, last.getKindAttr(),
      last.getAxesAttr(), last.getMeshAttr());
  return llvm::to_vector_of<Value>(merged.getResults());
}

void Bucket::close(pm::MeshOp mesh) {
  if (members.size() > 1) {
    Operation *last = members.back();
    SmallVector<Location> locations;
    for (Operation *member : members)
      locations.push_back(member->getLoc());
    OpBuilder builder(last);
    Location loc = builder.getFusedLoc(locations);
    Operation *before = last->getPrevNode();
    SmallVector<Value> merged =
        isa<pm::AllReduceOp>(last) ? mergeReduces(builder, loc, members)
        : isa<pm::AllGatherOp>(last)
            ? packGathers(builder, loc, members, mesh)
            : packScatters(builder, loc, members, mesh);
    if (Attribute phase = last->getAttr(pm::kPhaseAttr))
      for (Operation *op = last->getPrevNode(); op != before;
           op = op->getPrevNode())
        op->setAttr(pm::kPhaseAttr, phase);
    // What waits in front of the merged op goes behind it, in the old order.
    Operation *place = last;
    for (Operation *op : waiting.getArrayRef().take_front(waitingBeforeLast)) {
      op->moveAfter(place);
      place = op;
    }
    unsigned index = 0;
    for (Operation *member : members) {
      for (Value result : member->getResults())
        result.replaceAllUsesWith(merged[index++]);
      member->erase();
    }
  }
  members.clear();
  waiting.clear();
  waitingBeforeLast = 0;
  bytes = 0;
}

/// The key of a collective that may be merged, if it is one. An all-reduce of
/// any size may: its members stay where they are. Packing a gather or a
/// reduce-scatter copies them, which pays where latency outweighs their bytes.
static std::optional<Key> keyOf(Operation *op, int64_t limit) {
  if (!isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp>(op))
    return {};
  Type element =
      cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  if (!isa<pm::AllReduceOp>(op)) {
    // A bucket takes about twenty times a link's latency.
    constexpr int64_t latenciesOfBucket = 20;
    int64_t bytes = Bucket::bytesOf(op);
    if (bytes == 0 || bytes > limit / latenciesOfBucket)
      return {};
  } else if (llvm::any_of(op->getOperandTypes(), [&](Type type) {
               return cast<RankedTensorType>(type).getElementType() != element;
             })) {
    return {};
  }
  return Key{op->getName(), op->getAttr("axes"), op->getAttr("kind"), element};
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

static void combine(Block &block, int64_t limit, pm::MeshOp mesh) {
  shareEqual(block);
  SmallVector<Key> keys;
  for (Operation &op : block)
    if (auto key = keyOf(&op, limit); key && !llvm::is_contained(keys, *key))
      keys.push_back(*key);
  for (const Key &key : keys) {
    Bucket bucket;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto own = keyOf(&op, limit);
      if (!own || !(*own == key)) {
        if (!bucket.empty())
          bucket.see(&op);
        continue;
      }
      if (!bucket.empty() && !bucket.accepts(&op, limit))
        bucket.close(mesh);
      bucket.add(&op);
    }
    bucket.close(mesh);
  }
}

namespace {
class CombineCollectives
    : public pipemesh::impl::CombineCollectivesPassBase<CombineCollectives> {
public:
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  void runOnOperation() override {
    pm::MeshOp mesh = pm::lookupMesh(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) { combine(*block, bucketBytes, mesh); });
  }
};
} // namespace
