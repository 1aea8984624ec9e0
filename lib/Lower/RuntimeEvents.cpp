//===- RuntimeEvents.cpp --------------------------------------------------===//

#include "RuntimeEvents.h"
#include "RuntimeUses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pipemesh;
using pmrt::PlaceAttr;

namespace {

class EventCheck {
public:
  explicit EventCheck(pmrt::RoleOp role) : uses(role) {}

  LogicalResult run();

private:
  LogicalResult verifyBody(pmrt::BodyOp body);
  LogicalResult runInstruction(Operation &op);
  LogicalResult verifyUntouched(Operation &op);
  LogicalResult verifyTransfer(Operation &op);

  RuntimeUses uses;
  llvm::SmallDenseSet<int64_t> started;
  llvm::MapVector<int64_t, pmrt::AllReduceOp> onTheirWay;
  llvm::DenseMap<Operation *, bool> hasEvents; ///< of each body
};

} // namespace

/// A loop may run any number of times, and a choice not at all.
LogicalResult EventCheck::verifyBody(pmrt::BodyOp body) {
  bool &has = hasEvents[body];
  auto result = body.walk([&](Operation *op) {
    auto reduce = dyn_cast<pmrt::AllReduceOp>(op);
    if (!isa<pmrt::WaitOp>(op) && !(reduce && reduce.getEvent()))
      return WalkResult::advance();
    has = true;
    if (isa<pmrt::BodyOp>(op->getParentOp()))
      return WalkResult::advance();
    op->emitOpError("stands in a loop or a choice, where an event may not be");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult EventCheck::verifyUntouched(Operation &op) {
  auto result = op.walk([&](Operation *inner) {
    auto places = inner->getAttrOfType<ArrayAttr>("places");
    if (!places)
      return WalkResult::advance();
    for (auto place : places.getAsRange<PlaceAttr>()) {
      pmrt::BufferOp buffer = uses.lookup(place);
      if (!buffer)
        continue;
      for (auto [event, reduce] : onTheirWay)
        for (auto moved : reduce.getPlaces().getAsRange<PlaceAttr>()) {
          if (uses.lookup(moved).getOffset() != buffer.getOffset())
            continue;
          auto diagnostic = inner->emitOpError("touches ")
                            << place << ", which is on its way until event "
                            << event << " is waited for";
          diagnostic.attachNote(reduce.getLoc()) << "started here";
          return WalkResult::interrupt();
        }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult EventCheck::verifyTransfer(Operation &op) {
  for (auto [event, reduce] : onTheirWay)
    for (auto moved : reduce.getPlaces().getAsRange<PlaceAttr>())
      if (uses.transfers(&op, uses.lookup(moved)))
        return op.emitOpError("moves ")
               << moved.getBuffer() << ", which is on its way until event "
               << event << " is waited for";
  return success();
}

LogicalResult EventCheck::runInstruction(Operation &op) {
  if (auto wait = dyn_cast<pmrt::WaitOp>(op)) {
    int64_t event = wait.getEvent();
    if (!onTheirWay.erase(event))
      return op.emitOpError("waits for event ")
             << event << ", which is not on its way";
    return success();
  }
  if (!onTheirWay.empty() && failed(verifyUntouched(op)))
    return failure();
  auto reduce = dyn_cast<pmrt::AllReduceOp>(op);
  if (!reduce || !reduce.getEvent())
    return success();
  int64_t event = *reduce.getEvent();
  if (event <= 0)
    return op.emitOpError("has event ") << event << ", but events begin at 1";
  if (!started.insert(event).second)
    return op.emitOpError("starts event ")
           << event << " a second time in the step";
  for (auto place : reduce.getPlaces().getAsRange<PlaceAttr>())
    if (!uses.lookup(place))
      return op.emitOpError("starts with ")
             << place << ", which is no buffer: scratch holds nothing from one "
             << "fragment to the next";
  onTheirWay.insert({event, reduce});
  return success();
}

LogicalResult EventCheck::run() {
  bool any = false;
  for (size_t i = 0; i < uses.size(); ++i) {
    auto action = dyn_cast<pmrt::ActionOp>(uses.getEntry(i));
    if (!action) {
      if (failed(verifyTransfer(*uses.getEntry(i))))
        return failure();
      continue;
    }
    pmrt::BodyOp body = uses.getBody(action);
    if (!body)
      continue;
    if (!hasEvents.count(body) && failed(verifyBody(body)))
      return failure();
    any |= hasEvents[body];
    if (!any)
      continue;
    for (Operation &op : body.getBody().front())
      if (failed(runInstruction(op)))
        return failure();
  }
  for (auto [event, reduce] : onTheirWay)
    return reduce.emitOpError("starts event ")
           << event << ", which nothing waits for";
  return success();
}

LogicalResult pipemesh::verifyEvents(pmrt::RoleOp role) {
  return EventCheck(role).run();
}
