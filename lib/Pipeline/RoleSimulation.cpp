//===- RoleSimulation.cpp - roles run against each other ------------------===//

#include "RoleSimulation.h"
#include <deque>
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace {
/// A buffer on its way between two roles.
using Channel = std::tuple<const void *, int64_t, int64_t>;

/// What a role has in a buffer, for one micro-batch or for the step.
struct Content {
  pm::ShardingAttr sharding;
  /// How many runs have been added up in it.
  int64_t parts = 0;
};

struct Role {
  pm::RoleOp op;
  Block::iterator next;
  std::map<std::pair<const void *, int64_t>, Content> contents;
  bool isDone() { return next == op.getBody().front().end(); }
};

class Simulation {
public:
  explicit Simulation(const Program &program) : program(program) {}
  LogicalResult run();

private:
  LogicalResult matchTransfers();
  /// False where the op has to wait.
  FailureOr<bool> step(Role &role, Operation &op);
  LogicalResult act(Role &role, pm::ActionOp action);
  LogicalResult send(Role &role, pm::SendOp send);
  LogicalResult reportWaiting();

  template <typename Transfer> LogicalResult check(Transfer op, int64_t rank);

  const Program &program;
  /// What each fragment reads and writes, found once.
  llvm::DenseMap<Attribute,
                 std::pair<SmallVector<BufferUse>, SmallVector<BufferUse>>>
      uses;
  std::map<int64_t, Role> roles;
  std::map<Channel, std::deque<std::pair<int64_t, Content>>> onTheWay;
};
} // namespace

static Channel channelOf(pm::SendOp op, int64_t rank) {
  return {op.getBufferAttr().getAsOpaquePointer(), rank, op.getPeer()};
}
static Channel channelOf(pm::ReceiveOp op, int64_t rank) {
  return {op.getBufferAttr().getAsOpaquePointer(), op.getPeer(), rank};
}

template <typename Transfer>
LogicalResult Simulation::check(Transfer op, int64_t rank) {
  if (!program.buffers.contains(op.getBufferAttr()))
    return op.emitError("names ")
           << op.getBufferAttr() << ", which the program does not have";
  int64_t peer = op.getPeer(), microBatch = op.getMicroBatch();
  if (peer == rank || !roles.count(peer))
    return op.emitError("has role ")
           << peer << " as its peer, but must name another role of the program";
  int64_t places = program.isCut(op.getBufferAttr()) ? program.microBatches : 1;
  if (microBatch < 0 || microBatch >= places)
    return op.emitError("names micro-batch ")
           << microBatch << " of " << places << " that " << op.getBufferAttr()
           << " holds";
  return success();
}

/// Every send has one receive, in the same order on the peer.
LogicalResult Simulation::matchTransfers() {
  std::map<Channel,
           std::pair<SmallVector<pm::SendOp>, SmallVector<pm::ReceiveOp>>>
      channels;
  for (auto &[rank, role] : roles)
    for (Operation &op : role.op.getBody().front()) {
      if (auto send = dyn_cast<pm::SendOp>(op)) {
        if (failed(check(send, rank)))
          return failure();
        channels[channelOf(send, rank)].first.push_back(send);
      } else if (auto receive = dyn_cast<pm::ReceiveOp>(op)) {
        if (failed(check(receive, rank)))
          return failure();
        channels[channelOf(receive, rank)].second.push_back(receive);
      }
    }
  for (auto &[channel, ends] : channels) {
    auto &[sends, receives] = ends;
    for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      if (i >= receives.size())
        return sends[i].emitError("sends ")
               << sends[i].getBufferAttr() << " to role " << sends[i].getPeer()
               << ", which does not receive it";
      if (i >= sends.size())
        return receives[i].emitError("receives ")
               << receives[i].getBufferAttr() << " from role "
               << receives[i].getPeer() << ", which does not send it";
      if (sends[i].getMicroBatch() == receives[i].getMicroBatch())
        continue;
      InFlightDiagnostic diagnostic =
          receives[i].emitError("receives ")
          << receives[i].getBufferAttr() << " of micro-batch "
          << receives[i].getMicroBatch() << ", but micro-batch "
          << sends[i].getMicroBatch() << " is what arrives";
      diagnostic.attachNote(sends[i].getLoc()) << "it is sent here";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult Simulation::act(Role &role, pm::ActionOp action) {
  auto fragment = pm::FragmentAttr::get(action.getContext(), action.getKind(),
                                        action.getStage());
  func::FuncOp function = program.fragments.lookup(fragment);
  auto placesOf = [&](Attribute buffer) {
    int64_t first = 0, last = 0;
    if (program.isCut(buffer)) {
      first = fragment.isPerMicroBatch() ? action.getMicroBatch() : 0;
      last = fragment.isPerMicroBatch() ? first : program.microBatches - 1;
    }
    return std::make_pair(first, last);
  };
  auto [known, isNew] = uses.try_emplace(fragment);
  if (isNew)
    known->second = {program.getReads(function), program.getWrites(function)};
  auto &[reads, writes] = known->second;
  for (const BufferUse &use : reads) {
    auto [first, last] = placesOf(use.buffer);
    for (int64_t i = first; i <= last; ++i) {
      auto found = role.contents.find({use.buffer.getAsOpaquePointer(), i});
      if (found == role.contents.end() ||
          found->second.sharding != use.sharding) {
        InFlightDiagnostic diagnostic = action.emitError("reads ");
        diagnostic << use.buffer;
        if (program.isCut(use.buffer))
          diagnostic << " of micro-batch " << i;
        return diagnostic << ", which role " << role.op.getPipelineRank()
                          << " has neither computed nor received";
      }
    }
  }
  for (const BufferUse &use : writes) {
    auto [first, last] = placesOf(use.buffer);
    for (int64_t i = first; i <= last; ++i) {
      Content &content = role.contents[{use.buffer.getAsOpaquePointer(), i}];
      if (content.sharding != use.sharding)
        content = {use.sharding, 0};
      ++content.parts;
    }
  }
  return success();
}

LogicalResult Simulation::send(Role &role, pm::SendOp send) {
  int64_t microBatch = send.getMicroBatch();
  auto found = role.contents.find(
      {send.getBufferAttr().getAsOpaquePointer(), microBatch});
  if (found == role.contents.end())
    return send.emitError("sends ")
           << send.getBufferAttr() << " of micro-batch " << microBatch
           << " before role " << role.op.getPipelineRank() << " has it";
  const Content &content = found->second;
  if (program.isPartial(content.sharding) &&
      content.parts < program.microBatches)
    return send.emitError("sends ")
           << send.getBufferAttr() << " when " << content.parts << " of "
           << program.microBatches << " micro-batches have been added to it";
  onTheWay[channelOf(send, role.op.getPipelineRank())].push_back(
      {microBatch, content});
  return success();
}

FailureOr<bool> Simulation::step(Role &role, Operation &op) {
  if (auto action = dyn_cast<pm::ActionOp>(op)) {
    if (failed(act(role, action)))
      return failure();
  } else if (auto sending = dyn_cast<pm::SendOp>(op)) {
    if (failed(send(role, sending)))
      return failure();
  } else if (auto receive = dyn_cast<pm::ReceiveOp>(op)) {
    auto &arrived = onTheWay[channelOf(receive, role.op.getPipelineRank())];
    if (arrived.empty())
      return false;
    role.contents[{receive.getBufferAttr().getAsOpaquePointer(),
                   receive.getMicroBatch()}] = arrived.front().second;
    arrived.pop_front();
  }
  return true;
}

LogicalResult Simulation::reportWaiting() {
  InFlightDiagnostic diagnostic =
      program.op->emitError("the roles wait for each other forever");
  // Each role waits for one other: whoever follows comes to a cycle.
  auto waitedFor = [&](int64_t rank) -> int64_t {
    return cast<pm::ReceiveOp>(*roles.at(rank).next).getPeer();
  };
  SmallVector<int64_t> shortest;
  for (auto &[rank, role] : roles) {
    SmallVector<int64_t> path;
    int64_t next = rank;
    while (!roles.at(next).isDone() && !llvm::is_contained(path, next)) {
      path.push_back(next);
      next = waitedFor(next);
    }
    if (path.empty() || next != rank)
      continue;
    if (shortest.empty() || path.size() < shortest.size())
      shortest = path;
  }
  for (int64_t rank : shortest) {
    auto receive = cast<pm::ReceiveOp>(*roles.at(rank).next);
    diagnostic.attachNote(receive.getLoc())
        << "role " << rank << " waits here for " << receive.getBufferAttr()
        << " of micro-batch " << receive.getMicroBatch() << " from role "
        << receive.getPeer();
  }
  return diagnostic;
}

LogicalResult Simulation::run() {
  for (auto op : pm::ProgramOp(program.op).getBody().getOps<pm::RoleOp>()) {
    Role role{op, op.getBody().front().begin(), {}};
    if (!roles.insert({op.getPipelineRank(), role}).second)
      return op.emitError("is a second role ") << op.getPipelineRank();
  }
  if (failed(matchTransfers()))
    return failure();
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &[rank, role] : roles)
      while (!role.isDone()) {
        FailureOr<bool> ran = step(role, *role.next);
        if (failed(ran))
          return failure();
        if (!*ran)
          break;
        ++role.next;
        moved = true;
      }
  }
  for (auto &[rank, role] : roles)
    if (!role.isDone())
      return reportWaiting();
  return success();
}

LogicalResult pipemesh::simulateRoles(const Program &program) {
  return Simulation(program).run();
}
