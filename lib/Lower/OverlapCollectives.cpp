//===- OverlapCollectives.cpp - pm-overlap-collectives --------------------===//

#include "RuntimeUses.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

namespace pipemesh {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pmrt::PlaceAttr;

namespace {

/// Before an update all ranks vote on values of up to this size, which must not
/// be on their way then.
constexpr int64_t votedBytes = 256;

/// An accumulator whose sum over the ranks can start before its body.
struct Ready {
  pmrt::AllReduceOp reduce; ///< that sums it
  PlaceAttr place;
  size_t entry;    ///< action that completes it
  Operation *last; ///< instruction of that action's body
  size_t position; ///< of that instruction
};

/// Accumulators that are summed at once, from where the last one is complete.
using Bucket = SmallVector<Ready>;

class RoleOverlap {
public:
  RoleOverlap(pmrt::RoleOp role, int64_t bucketBytes)
      : role(role), bucketBytes(bucketBytes), uses(role) {}

  void run();

private:
  std::optional<Ready> findReady(pmrt::AllReduceOp reduce, PlaceAttr place,
                                 size_t entry);
  void overlap(ArrayRef<pmrt::AllReduceOp> reduces, size_t entry);
  SmallVector<Bucket> makeBuckets(SmallVector<Ready> ready, size_t entry);
  void start(const Bucket &bucket, int64_t event);
  bool isLast(const Bucket &bucket, size_t entry);

  pmrt::RoleOp role;
  int64_t bucketBytes;
  RuntimeUses uses;
  int64_t events = 0;
};

struct OverlapCollectives
    : pipemesh::impl::OverlapCollectivesBase<OverlapCollectives> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  void runOnOperation() override {
    if (bucketBytes < 0) {
      getOperation().emitError("bucket-bytes is ")
          << int64_t(bucketBytes) << ", but must be 0 or more";
      return signalPassFailure();
    }
    if (bucketBytes > 0)
      for (auto role : getOperation().getOps<pmrt::RoleOp>())
        RoleOverlap(role, bucketBytes).run();
  }
};

} // namespace

/// Where the last action before `entry` that uses the place completes it; nothing
/// where the sum must stay in its body.
std::optional<Ready> RoleOverlap::findReady(pmrt::AllReduceOp reduce,
                                            PlaceAttr place, size_t entry) {
  if (!place.getBuffer() || place.getBytes() <= votedBytes)
    return std::nullopt;
  pmrt::BufferOp buffer = uses.lookup(place);
  // What lies in several slots belongs to several micro-batches.
  if (!buffer || buffer.getSlots() != 1)
    return std::nullopt;
  if (uses.isUsedBefore(reduce, buffer))
    return std::nullopt;
  while (entry-- > 0) {
    Operation *before = uses.getEntry(entry);
    auto action = dyn_cast<pmrt::ActionOp>(before);
    if (!action) {
      // A transfer of it: the value is another rank's, or on its way there.
      if (uses.transfers(before, buffer))
        return std::nullopt;
      continue;
    }
    pmrt::BodyOp body = uses.getBody(action);
    if (!body)
      return std::nullopt;
    if (std::optional<RuntimeUses::Use> use = uses.getLast(body, buffer)) {
      if (body.getKind() == "prologue")
        return std::nullopt;
      return Ready{reduce, place, entry, use->op, use->position};
    }
  }
  return std::nullopt;
}

/// Whether nothing of the step runs between the bucket's start and the body that
/// sums it.
bool RoleOverlap::isLast(const Bucket &bucket, size_t entry) {
  for (size_t next = bucket.back().entry + 1; next < entry; ++next)
    if (isa<pmrt::ActionOp>(uses.getEntry(next)))
      return false;
  return !bucket.back().last->getNextNode();
}

/// What is left over at the end is no bucket: it starts too late to gain.
SmallVector<Bucket> RoleOverlap::makeBuckets(SmallVector<Ready> ready,
                                             size_t entry) {
  llvm::stable_sort(ready, [](const Ready &a, const Ready &b) {
    return std::tie(a.entry, a.position) < std::tie(b.entry, b.position);
  });
  SmallVector<Bucket> buckets;
  Bucket open;
  int64_t bytes = 0;
  for (const Ready &next : ready) {
    open.push_back(next);
    bytes += next.place.getBytes();
    if (bytes < bucketBytes)
      continue;
    buckets.push_back(std::move(open));
    open.clear();
    bytes = 0;
  }
  if (!buckets.empty() && isLast(buckets.back(), entry))
    buckets.pop_back();
  return buckets;
}

/// Puts the bucket's start into the body of the action that completes it, which
/// runs once a step from then on.
void RoleOverlap::start(const Bucket &bucket, int64_t event) {
  const Ready &back = bucket.back();
  Operation *last = uses.makeBodyOfItsOwn(
      cast<pmrt::ActionOp>(uses.getEntry(back.entry)), back.last);
  // Starts behind one instruction stay in order.
  while (auto next = dyn_cast_or_null<pmrt::AllReduceOp>(last->getNextNode())) {
    if (!next.getEvent())
      break;
    last = next;
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  SmallVector<Attribute> places;
  for (const Ready &each : bucket)
    places.push_back(each.place);
  pmrt::AllReduceOp reduce = back.reduce;
  pmrt::AllReduceOp::create(
      builder, reduce.getLoc(), reduce.getReductionAttr(), reduce.getAxesAttr(),
      builder.getArrayAttr(places), reduce.getElementTypeAttr(),
      builder.getI64IntegerAttr(event));
}

/// `reduces` sum elements of one type over the same axes, in one body.
void RoleOverlap::overlap(ArrayRef<pmrt::AllReduceOp> reduces, size_t entry) {
  SmallVector<Ready> ready;
  for (pmrt::AllReduceOp reduce : reduces)
    for (auto place : reduce.getPlaces().getAsRange<PlaceAttr>())
      if (auto found = findReady(reduce, place, entry))
        ready.push_back(*found);
  llvm::SmallDenseSet<Attribute> started;
  OpBuilder builder(reduces.front());
  for (const Bucket &bucket : makeBuckets(std::move(ready), entry)) {
    int64_t event = ++events;
    start(bucket, event);
    pmrt::AllReduceOp reduce = bucket.back().reduce;
    pmrt::WaitOp::create(builder, reduce.getLoc(), event);
    for (const Ready &each : bucket)
      started.insert(each.place);
  }
  if (started.empty())
    return;
  for (pmrt::AllReduceOp reduce : reduces) {
    SmallVector<Attribute> rest;
    llvm::copy_if(reduce.getPlaces(), std::back_inserter(rest),
                  [&](Attribute place) { return !started.contains(place); });
    if (rest.empty())
      reduce.erase();
    else
      reduce.setPlacesAttr(builder.getArrayAttr(rest));
  }
}

void RoleOverlap::run() {
  for (size_t entry = 0; entry < uses.size(); ++entry) {
    auto action = dyn_cast<pmrt::ActionOp>(uses.getEntry(entry));
    pmrt::BodyOp body = action ? uses.getBody(action) : pmrt::BodyOp();
    if (!body || (body.getKind() != "reduce" && body.getKind() != "update"))
      continue;
    llvm::MapVector<Attribute, SmallVector<pmrt::AllReduceOp>> alike;
    for (auto reduce : body.getBody().front().getOps<pmrt::AllReduceOp>())
      if (!reduce.getEvent())
        alike[ArrayAttr::get(reduce.getContext(),
                             {reduce.getReductionAttr(), reduce.getAxesAttr(),
                              reduce.getElementTypeAttr()})]
            .push_back(reduce);
    for (auto &[key, reduces] : alike)
      overlap(reduces, entry);
  }
}
