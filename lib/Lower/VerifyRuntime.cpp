//===- VerifyRuntime.cpp - pm-verify-runtime ------------------------------===//

#include "ProgramBuffers.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

private:
  SmallVector<std::pair<int64_t, int64_t>> ranges;
};

struct VerifyRuntime : pipemesh::impl::VerifyRuntimeBase<VerifyRuntime> {
  void runOnOperation() override {
    for (auto role : getOperation().getOps<pmrt::RoleOp>())
      if (failed(verifyRole(role)))
        return signalPassFailure();
  }

  LogicalResult verifyRole(pmrt::RoleOp role);
  LogicalResult verifyBuffers(pmrt::RoleOp role);
  LogicalResult verifyBody(pmrt::RoleOp role, pmrt::BodyOp body);

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
  bool wholeStep = body.getKind() == "prologue" || body.getKind() == "update";
  ByteRanges written;
  for (Operation &op : body.getBody().front()) {
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
  }
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
