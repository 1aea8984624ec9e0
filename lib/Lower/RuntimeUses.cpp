//===- RuntimeUses.cpp ----------------------------------------------------===//

#include "RuntimeUses.h"

using namespace mlir;
using namespace pipemesh;
using pmrt::PlaceAttr;

RuntimeUses::RuntimeUses(pmrt::RoleOp role) : role(role) {
  for (Operation &op : role.getBody().front()) {
    if (auto buffer = dyn_cast<pmrt::BufferOp>(op)) {
      buffers[buffer.getSymName()] = buffer;
    } else if (auto body = dyn_cast<pmrt::BodyOp>(op)) {
      bodies[body.getSymName()] = body;
    } else if (isa<pmrt::ActionOp, pmrt::SendOp, pmrt::ReceiveOp>(op)) {
      if (auto action = dyn_cast<pmrt::ActionOp>(op))
        ++runs[action.getFragment()];
      entries.push_back(&op);
    }
  }
  for (auto &entry : bodies)
    addUses(entry.second);
}

void RuntimeUses::addUses(pmrt::BodyOp body) {
  Uses &uses = last[body];
  for (auto [position, op] : llvm::enumerate(body.getBody().front()))
    op.walk([&, position = position, top = &op](Operation *inner) {
      if (auto places = inner->getAttrOfType<ArrayAttr>("places"))
        for (auto place : places.getAsRange<PlaceAttr>())
          if (pmrt::BufferOp buffer = lookup(place))
            uses[buffer.getOffset()] = {top, position};
    });
}

pmrt::BufferOp RuntimeUses::lookup(PlaceAttr place) const {
  return place.getBuffer() ? buffers.lookup(place.getBuffer().getValue())
                           : pmrt::BufferOp();
}

std::optional<RuntimeUses::Use>
RuntimeUses::getLast(pmrt::BodyOp body, pmrt::BufferOp buffer) const {
  auto uses = last.find(body);
  if (uses == last.end())
    return std::nullopt;
  auto use = uses->second.find(buffer.getOffset());
  if (use == uses->second.end())
    return std::nullopt;
  return use->second;
}

bool RuntimeUses::isUsedBefore(Operation *op, pmrt::BufferOp buffer) const {
  for (Operation &before : *op->getBlock()) {
    if (&before == op)
      return false;
    auto result = before.walk([&](Operation *inner) {
      if (auto places = inner->getAttrOfType<ArrayAttr>("places"))
        for (auto place : places.getAsRange<PlaceAttr>())
          if (pmrt::BufferOp used = lookup(place))
            if (used.getOffset() == buffer.getOffset())
              return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

bool RuntimeUses::transfers(Operation *transfer, pmrt::BufferOp buffer) const {
  StringRef name;
  if (auto send = dyn_cast<pmrt::SendOp>(transfer))
    name = send.getBuffer();
  else if (auto receive = dyn_cast<pmrt::ReceiveOp>(transfer))
    name = receive.getBuffer();
  pmrt::BufferOp moved = buffers.lookup(name);
  return moved && moved.getOffset() == buffer.getOffset();
}

Operation *RuntimeUses::makeBodyOfItsOwn(pmrt::ActionOp action, Operation *op) {
  auto known = copies.find(action);
  if (known != copies.end()) {
    auto copy = known->second.find(op);
    return copy == known->second.end() ? op : copy->second;
  }
  int64_t &runsOfBody = runs[action.getFragment()];
  if (runsOfBody == 1)
    return op;
  --runsOfBody;
  pmrt::BodyOp body = getBody(action);
  std::string name = (body.getSymName() + "_last").str();
  while (role.lookupSymbol(name))
    name += "_last";
  OpBuilder builder(body->getContext());
  builder.setInsertionPointAfter(body);
  auto copy = cast<pmrt::BodyOp>(builder.clone(*body));
  copy.setSymName(name);
  action.setFragment(name);
  runs[name] = 1;
  bodies[name] = copy;
  auto &pairs = copies[action];
  for (auto [from, to] :
       llvm::zip(body.getBody().front(), copy.getBody().front()))
    pairs[&from] = &to;
  addUses(copy);
  return pairs.lookup(op);
}
