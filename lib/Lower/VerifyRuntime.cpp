//===- VerifyRuntime.cpp - pm-verify-runtime ------------------------------===//

#include "RuntimeEvents.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace pipemesh {
#define GEN_PASS_DEF_VERIFYRUNTIME
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using pmrt::Access;
using pmrt::PlaceAttr;

namespace {

/// Disjoint half-open ranges of bytes, joined where they touch.
class ByteRanges {
public:
  void add(int64_t begin, int64_t end) {
    if (begin >= end)
      return;
    SmallVector<std::pair<int64_t, int64_t>> merged;
    for (auto [b, e] : ranges) {
      if (e < begin || b > end) {
        merged.push_back({b, e});
      } else {
        begin = std::min(begin, b);
        end = std::max(end, e);
      }
    }
    merged.push_back({begin, end});
    llvm::sort(merged);
    ranges = std::move(merged);
  }
  bool covers(int64_t begin, int64_t end) const {
    return begin >= end || llvm::any_of(ranges, [&](auto range) {
             return range.first <= begin && end <= range.second;
           });
  }
  /// What lies in both.
  ByteRanges intersect(const ByteRanges &other) const {
    ByteRanges common;
    for (auto [b, e] : ranges)
      for (auto [ob, oe] : other.ranges)
        common.add(std::max(b, ob), std::min(e, oe));
    return common;
  }

private:
  SmallVector<std::pair<int64_t, int64_t>> ranges;
};

struct VerifyRuntime : pipemesh::impl::VerifyRuntimeBase<VerifyRuntime> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<pmrt::RoleOp>())
      if (failed(verifyRole(role)) || failed(verifyEvents(role)))
        return signalPassFailure();
    if (failed(verifyChannels()))
      signalPassFailure();
  }

  LogicalResult verifyRole(pmrt::RoleOp role);
  LogicalResult verifyBuffers(pmrt::RoleOp role);
  LogicalResult verifyBody(pmrt::RoleOp role, pmrt::BodyOp body);
  LogicalResult verifyBlock(pmrt::RoleOp role, Block &block, bool wholeStep,
                            ByteRanges &written);
  LogicalResult verifyPlaces(pmrt::RoleOp role, Operation &op, bool wholeStep,
                             ByteRanges &written);
  LogicalResult verifyChannels();
  LogicalResult verifyProgress();

  llvm::StringMap<pmrt::BufferOp> buffers;
};

} // namespace

/// Buffers lie in the arena before scratch, and two that share a place share
/// all of it.
LogicalResult VerifyRuntime::verifyBuffers(pmrt::RoleOp role) {
  buffers.clear();
  SmallVector<pmrt::BufferOp> sorted;
  for (auto buffer : role.getBody().front().getOps<pmrt::BufferOp>()) {
    int64_t end =
        buffer.getOffset() + buffer.getSlotStride() * buffer.getSlots();
    if (end > static_cast<int64_t>(role.getScratchOffset()))
      return buffer.emitOpError("ends at byte ")
             << end << " of the arena, but scratch begins at "
             << role.getScratchOffset();
    if (buffer.getSlotStride() < buffer.getBytes())
      return buffer.emitOpError("has slots of ")
             << buffer.getBytes() << " bytes only " << buffer.getSlotStride()
             << " bytes apart";
    buffers[buffer.getSymName()] = buffer;
    if (buffer.getBytes() > 0)
      sorted.push_back(buffer);
  }
  llvm::sort(sorted, [](pmrt::BufferOp a, pmrt::BufferOp b) {
    return a.getOffset() < b.getOffset();
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    pmrt::BufferOp before = sorted[i - 1], buffer = sorted[i];
    int64_t end =
        before.getOffset() + before.getSlotStride() * before.getSlots();
    if (buffer.getOffset() == before.getOffset() &&
        buffer.getBytes() == before.getBytes())
      continue;
    if (end > static_cast<int64_t>(buffer.getOffset()))
      return buffer.emitOpError("at byte ")
             << buffer.getOffset() << " overlaps buffer '"
             << before.getSymName() << "', which ends at " << end;
  }
  if (role.getScratchOffset() + role.getScratchBytes() > role.getArenaBytes())
    return role.emitOpError("has scratch up to byte ")
           << role.getScratchOffset() + role.getScratchBytes()
           << " of an arena of " << role.getArenaBytes();
  return success();
}

LogicalResult VerifyRuntime::verifyBody(pmrt::RoleOp role, pmrt::BodyOp body) {
  bool wholeStep = body.getKind() == "prologue" ||
                   body.getKind() == "reduce" || body.getKind() == "update";
  ByteRanges written;
  return verifyBlock(role, body.getBody().front(), wholeStep, written);
}

/// `written` grows by what is written on every way through the block.
LogicalResult VerifyRuntime::verifyBlock(pmrt::RoleOp role, Block &block,
                                         bool wholeStep, ByteRanges &written) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<pmrt::WhileOp>(op)) {
      // The body may not run at all; the condition is read behind its region.
      if (failed(verifyBlock(role, loop.getCond().front(), wholeStep,
                             written)) ||
          failed(verifyPlaces(role, op, wholeStep, written)))
        return failure();
      ByteRanges inside = written;
      if (failed(
              verifyBlock(role, loop.getBody().front(), wholeStep, inside)))
        return failure();
      continue;
    }
    if (failed(verifyPlaces(role, op, wholeStep, written)))
      return failure();
    std::optional<ByteRanges> common;
    for (Region &branch : op.getRegions()) {
      ByteRanges inside = written;
      if (failed(verifyBlock(role, branch.front(), wholeStep, inside)))
        return failure();
      common = common ? common->intersect(inside) : inside;
    }
    if (common)
      written = *common;
  }
  return success();
}

LogicalResult VerifyRuntime::verifyPlaces(pmrt::RoleOp role, Operation &op,
                                          bool wholeStep, ByteRanges &written) {
  if (isa<pmrt::WaitOp>(op))
    return success();
  auto places = op.getAttrOfType<ArrayAttr>("places");
  if (!places)
    return op.emitOpError("is no instruction: it has no places");
  for (auto place : places.getAsRange<PlaceAttr>()) {
    int64_t limit = role.getScratchBytes();
    if (place.getBuffer()) {
      pmrt::BufferOp buffer = buffers.lookup(place.getBuffer().getValue());
      if (!buffer)
        return op.emitOpError("uses ")
               << place.getBuffer() << ", which is no buffer of the role";
      // A fragment that runs once a step may see all micro-batches.
      limit = wholeStep ? buffer.getSlotStride() * (buffer.getSlots() - 1) +
                              buffer.getBytes()
                        : buffer.getBytes();
    }
    if (place.getOffset() < 0 || place.getBytes() < 0 ||
        place.getOffset() + place.getBytes() > limit)
      return op.emitOpError("place ")
             << place << " lies outside of " << limit << " bytes";
    bool reads = place.getAccess() != Access::Write;
    if (reads && !place.getBuffer() &&
        !written.covers(place.getOffset(),
                        place.getOffset() + place.getBytes()))
      return op.emitOpError("reads ")
             << place << ", which no instruction before it has written";
  }
  // What is written overlaps what is read only where it takes its place over.
  for (auto out : places.getAsRange<PlaceAttr>()) {
    if (out.getAccess() == Access::Read)
      continue;
    for (auto in : places.getAsRange<PlaceAttr>()) {
      if (in == out || in.getBuffer() != out.getBuffer() ||
          in.getOffset() >= out.getOffset() + out.getBytes() ||
          out.getOffset() >= in.getOffset() + in.getBytes())
        continue;
      if (isa<pmrt::CallOp>(op) && in.getOffset() == out.getOffset() &&
          in.getAccess() == Access::Read)
        continue;
      return op.emitOpError("writes ")
             << out << ", which overlaps " << in << " of the same instruction";
    }
  }
  for (auto place : places.getAsRange<PlaceAttr>())
    if (place.getAccess() != Access::Read && !place.getBuffer())
      written.add(place.getOffset(), place.getOffset() + place.getBytes());
  return success();
}

LogicalResult VerifyRuntime::verifyRole(pmrt::RoleOp role) {
  if (failed(verifyBuffers(role)))
    return failure();
  llvm::StringSet<> bodies;
  for (auto body : role.getBody().front().getOps<pmrt::BodyOp>()) {
    bodies.insert(body.getSymName());
    if (failed(verifyBody(role, body)))
      return failure();
  }
  for (auto action : role.getBody().front().getOps<pmrt::ActionOp>())
    if (!bodies.contains(action.getFragment()))
      return action.emitOpError("runs '")
             << action.getFragment() << "', which is no body of the role";
  auto result = role.walk([&](pmrt::CallOp call) {
    auto kernel = getOperation().lookupSymbol<func::FuncOp>(call.getKernel());
    if (!kernel || kernel.isExternal()) {
      call.emitOpError("calls '") << call.getKernel() << "', which is no kernel";
      return WalkResult::interrupt();
    }
    size_t wanted = kernel.getNumArguments() + kernel.getNumResults();
    if (call.getPlaces().size() != wanted) {
      call.emitOpError("has ") << call.getPlaces().size() << " places, but '"
                               << call.getKernel() << "' takes " << wanted;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
/// Sends and receives of one channel, each in the order of its role.
struct Channel {
  int64_t sender, receiver;
  pmrt::BufferOp buffer;
  SmallVector<Operation *> sends, receives;
};
} // namespace

/// What one role sends on a channel, the other receives: the same buffer, of the
/// same size, the same micro-batches in the same order.
LogicalResult VerifyRuntime::verifyChannels() {
  llvm::MapVector<int64_t, Channel> channels;
  llvm::StringMap<int64_t> rankOf;
  for (auto [rank, role] :
       llvm::enumerate(getOperation().getOps<pmrt::RoleOp>()))
    rankOf[role.getSymName()] = rank;
  auto add = [&](pmrt::RoleOp role, auto transfer, int64_t sender,
                 int64_t receiver, bool sends) -> LogicalResult {
    auto buffer = dyn_cast_or_null<pmrt::BufferOp>(
        SymbolTable::lookupSymbolIn(role, transfer.getBuffer()));
    if (!buffer)
      return transfer.emitOpError("moves ")
             << transfer.getBufferAttr() << ", which is no buffer of the role";
    if (static_cast<int64_t>(transfer.getPeer()) == rankOf[role.getSymName()] ||
        transfer.getPeer() >= rankOf.size())
      return transfer.emitOpError("has the peer ")
             << transfer.getPeer() << ", which is not another of "
             << rankOf.size() << " roles";
    auto [it, isNew] =
        channels.insert({static_cast<int64_t>(transfer.getChannel()),
                         {sender, receiver, buffer, {}, {}}});
    Channel &channel = it->second;
    if (channel.sender != sender || channel.receiver != receiver ||
        channel.buffer.getSymName() != buffer.getSymName())
      return transfer.emitOpError("uses channel ")
             << transfer.getChannel() << " for '" << buffer.getSymName()
             << "' from " << sender << " to " << receiver
             << ", but it belongs to '" << channel.buffer.getSymName()
             << "' from " << channel.sender << " to " << channel.receiver;
    if (channel.buffer.getType() != buffer.getType())
      return transfer.emitOpError("moves ")
             << buffer.getType() << ", but the other role has "
             << channel.buffer.getType();
    (sends ? channel.sends : channel.receives).push_back(transfer);
    return success();
  };
  for (auto role : getOperation().getOps<pmrt::RoleOp>()) {
    int64_t self = rankOf[role.getSymName()];
    for (Operation &op : role.getBody().front()) {
      LogicalResult added = success();
      if (auto send = dyn_cast<pmrt::SendOp>(op))
        added = add(role, send, self, send.getPeer(), true);
      else if (auto receive = dyn_cast<pmrt::ReceiveOp>(op))
        added = add(role, receive, receive.getPeer(), self, false);
      if (failed(added))
        return failure();
    }
  }
  for (auto &[number, channel] : channels) {
    for (size_t i = 0;
         i < std::max(channel.sends.size(), channel.receives.size()); ++i) {
      if (i >= channel.receives.size())
        return channel.sends[i]->emitOpError("on channel ")
               << number << " is received by nobody";
      if (i >= channel.sends.size())
        return channel.receives[i]->emitOpError("on channel ")
               << number << " waits for what nobody sends";
      auto send = cast<pmrt::SendOp>(channel.sends[i]);
      auto receive = cast<pmrt::ReceiveOp>(channel.receives[i]);
      if (send.getMicroBatch() != receive.getMicroBatch()) {
        auto diagnostic = receive.emitOpError("takes micro-batch ")
                          << receive.getMicroBatch() << " from channel "
                          << number << ", where micro-batch "
                          << send.getMicroBatch() << " comes";
        diagnostic.attachNote(send.getLoc()) << "sent here";
        return diagnostic;
      }
    }
  }
  return verifyProgress();
}

/// Runs the roles side by side: a send never waits, a receive waits for its
/// send. All of them come to their end.
LogicalResult VerifyRuntime::verifyProgress() {
  struct State {
    Block::iterator next, end;
  };
  SmallVector<State> roles;
  for (auto role : getOperation().getOps<pmrt::RoleOp>())
    roles.push_back(
        {role.getBody().front().begin(), role.getBody().front().end()});
  llvm::DenseMap<int64_t, int64_t> arrived;
  for (bool moved = true; moved;) {
    moved = false;
    for (State &role : roles)
      for (; role.next != role.end; ++role.next, moved = true) {
        if (auto send = dyn_cast<pmrt::SendOp>(*role.next))
          ++arrived[send.getChannel()];
        else if (auto receive = dyn_cast<pmrt::ReceiveOp>(*role.next))
          if (--arrived[receive.getChannel()] < 0) {
            arrived[receive.getChannel()] = 0;
            break;
          }
      }
  }
  std::optional<InFlightDiagnostic> diagnostic;
  for (auto [rank, role] : llvm::enumerate(roles)) {
    if (role.next == role.end)
      continue;
    if (diagnostic) {
      diagnostic->attachNote(role.next->getLoc())
          << "role " << rank << " waits here";
      continue;
    }
    diagnostic.emplace(role.next->emitOpError("on channel "));
    *diagnostic << cast<pmrt::ReceiveOp>(*role.next).getChannel()
                << " waits for a send that waits for it, over the receives of "
                   "other roles";
  }
  return diagnostic ? failure() : success();
}
