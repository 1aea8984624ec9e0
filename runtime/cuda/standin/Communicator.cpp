//===- Communicator.cpp - ranks that meet ---------------------------------===//

#include "cuda/standin/Communicator.h"
#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"
#include "cuda/standin/Reduction.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace pipemesh::cuda::standin {

namespace {

/// A member's operation that has come to its turn.
struct Arrival {
  std::shared_ptr<GroupLaunch> launch;
  const Operation *operation = nullptr;
};

struct Split {
  ncclComm *made = nullptr;
  int color = 0, key = 0;
};

} // namespace

struct Clique {
  std::vector<ncclComm *> members;
  /// Nothing ends any more: a mistake, or a member that has gone.
  bool isBroken = false;
  std::map<uint64_t, std::map<int, Arrival>> collectives;
  /// By sender, receiver and number; those of one side that wait for the other.
  std::map<std::tuple<int, int, uint64_t>, Arrival> transfers;
  std::map<uint64_t, std::map<int, Split>> splits;
};

namespace {

/// Communicators that not all members have come to, by their id.
std::map<std::string, std::vector<ncclComm *>> &forming() {
  static auto &all = *new std::map<std::string, std::vector<ncclComm *>>;
  return all;
}

void breakAll(Clique &clique, ncclResult_t error, const std::string &text) {
  clique.isBroken = true;
  for (ncclComm *member : clique.members)
    setError(member, error, text);
}

void form(const std::vector<ncclComm *> &members) {
  auto clique = std::make_shared<Clique>();
  clique->members = members;
  for (ncclComm *member : members) {
    member->clique = clique;
    member->size = static_cast<int>(members.size());
    if (member->state == ncclInProgress)
      member->state = ncclSuccess;
  }
  const char *allowed = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  if (allowed && std::strcmp(allowed, "1") == 0)
    return;
  std::map<CUcontext, int> devices;
  for (const ncclComm *member : members) {
    auto [it, isNew] = devices.try_emplace(member->context, member->rank);
    if (!isNew)
      return breakAll(*clique, ncclInvalidUsage,
                      "Duplicate GPU detected: rank " + std::to_string(member->rank) +
                          " and rank " + std::to_string(it->second) +
                          " are both on device " +
                          std::to_string(member->context->device));
  }
}

std::string describe(const Operation &operation, int rank) {
  std::string text = "rank " + std::to_string(rank) + " has " + operation.name() +
                     " of " + std::to_string(operation.count) + " of type " +
                     std::to_string(operation.type);
  if (operation.kind == Operation::AllReduce ||
      operation.kind == Operation::ReduceScatter)
    text += " with reduction " + std::to_string(operation.reduction);
  return text;
}

void endOne(const Arrival &arrival) {
  if (--arrival.launch->unfinished == 0)
    finish(arrival.launch->task, CUDA_SUCCESS);
}

/// All have come. Everything is read before anything is written, as an operation may
/// be in place.
void collect(const std::map<int, Arrival> &arrivals) {
  const Operation &first = *arrivals.begin()->second.operation;
  uint64_t size = bytesOfNumber(first.type), ranks = arrivals.size();
  if (first.kind == Operation::AllGather) {
    std::vector<char> all(ranks * first.count * size);
    for (const auto &[rank, arrival] : arrivals)
      std::memcpy(&all[rank * first.count * size], arrival.operation->from,
                  first.count * size);
    for (const auto &[rank, arrival] : arrivals)
      std::memcpy(arrival.operation->to, all.data(), all.size());
    return;
  }
  bool isScatter = first.kind == Operation::ReduceScatter;
  uint64_t count = isScatter ? first.count * ranks : first.count;
  std::vector<const void *> from;
  for (const auto &[rank, arrival] : arrivals)
    from.push_back(arrival.operation->from);
  std::vector<char> result(count * size);
  reduce(first.type, first.reduction, count, from, result.data());
  for (const auto &[rank, arrival] : arrivals)
    std::memcpy(arrival.operation->to,
                result.data() + (isScatter ? rank * first.count * size : 0),
                first.count * size);
}

void meet(Clique &clique, int rank, const Arrival &arrival) {
  const Operation &mine = *arrival.operation;
  auto &arrivals = clique.collectives[mine.sequence];
  if (!arrivals.empty()) {
    const auto &[other, before] = *arrivals.begin();
    const Operation &theirs = *before.operation;
    bool isReduction = mine.kind != Operation::AllGather;
    if (mine.kind != theirs.kind || mine.count != theirs.count ||
        mine.type != theirs.type || (isReduction && mine.reduction != theirs.reduction))
      return breakAll(clique, ncclInvalidUsage,
                      "collective " + std::to_string(mine.sequence) +
                          " of the communicator differs between its members: " +
                          describe(theirs, other) + ", " + describe(mine, rank));
  }
  arrivals[rank] = arrival;
  if (arrivals.size() < clique.members.size())
    return;
  auto all = std::move(arrivals);
  clique.collectives.erase(mine.sequence);
  collect(all);
  for (const auto &[member, each] : all)
    endOne(each);
}

void transfer(Clique &clique, int rank, const Arrival &arrival) {
  const Operation &mine = *arrival.operation;
  bool isSend = mine.kind == Operation::Send;
  std::tuple place{isSend ? rank : mine.peer, isSend ? mine.peer : rank, mine.sequence};
  auto it = clique.transfers.find(place);
  if (it == clique.transfers.end()) {
    clique.transfers[place] = arrival;
    return;
  }
  Arrival other = it->second;
  clique.transfers.erase(it);
  const Operation &theirs = *other.operation;
  if (mine.count != theirs.count || mine.type != theirs.type)
    return breakAll(clique, ncclInvalidUsage,
                    "transfer " + std::to_string(mine.sequence) + " from rank " +
                        std::to_string(std::get<0>(place)) + " to rank " +
                        std::to_string(std::get<1>(place)) +
                        " differs between the two: " + describe(theirs, mine.peer) +
                        ", " + describe(mine, rank));
  const Operation &send = isSend ? mine : theirs, &receive = isSend ? theirs : mine;
  std::memmove(receive.to, send.from, send.count * bytesOfNumber(send.type));
  endOne(arrival);
  endOne(other);
}

} // namespace

const char *Operation::name() const {
  static const char *const names[] = {"ncclAllReduce", "ncclAllGather",
                                      "ncclReduceScatter", "ncclSend", "ncclRecv"};
  return names[kind];
}

uint64_t Operation::elementsRead(int ranks) const {
  return kind == Receive ? 0 : kind == ReduceScatter ? count * ranks : count;
}
uint64_t Operation::elementsWritten(int ranks) const {
  return kind == Send ? 0 : kind == AllGather ? count * ranks : count;
}

int bytesOfNumber(int type) {
  static constexpr int bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type > ncclBfloat16 ? 0 : bytes[type];
}

void GroupLaunch::arrive(const TaskPtr &arrived) {
  task = arrived;
  // The task drops its exchange when it ends.
  auto self = std::static_pointer_cast<GroupLaunch>(arrived->exchange);
  for (const Operation &operation : operations) {
    if (comm->clique->isBroken)
      return;
    Arrival arrival{self, &operation};
    if (operation.kind == Operation::Send || operation.kind == Operation::Receive)
      transfer(*comm->clique, comm->rank, arrival);
    else
      meet(*comm->clique, comm->rank, arrival);
  }
}

std::shared_ptr<Exchange> GroupLaunch::copy() {
  auto made = std::make_shared<GroupLaunch>();
  made->comm = comm;
  made->operations = operations;
  return made;
}

void GroupLaunch::issue(const TaskPtr &issued) {
  unfinished = operations.size();
  for (Operation &operation : operations)
    operation.sequence =
        operation.kind == Operation::Send      ? comm->sends[operation.peer]++
        : operation.kind == Operation::Receive ? comm->receives[operation.peer]++
                                               : comm->collectives++;
  // What a communicator does is done in the order of the calls, on any streams.
  if (comm->last && (comm->last->state != Task::Done || comm->last->error))
    issued->after.push_back(comm->last);
  comm->last = issued;
  std::erase_if(comm->open,
                [](const TaskPtr &task) { return task->state == Task::Done; });
  comm->open.insert(issued);
}

void setError(ncclComm *comm, ncclResult_t error, const std::string &text) {
  if (comm->isDestroyed ||
      (comm->state != ncclSuccess && comm->state != ncclInProgress))
    return;
  comm->state = error;
  comm->text = text;
  theChange().notify_all();
}

void join(ncclComm *comm, const std::string &id) {
  auto &members = forming()[id];
  for (const ncclComm *other : members)
    if (other->rank == comm->rank || other->size != comm->size)
      return setError(comm, ncclInvalidUsage,
                      "rank " + std::to_string(comm->rank) + " of " +
                          std::to_string(comm->size) + " does not fit to rank " +
                          std::to_string(other->rank) + " of " +
                          std::to_string(other->size) + ", which has the same id");
  members.push_back(comm);
  if (static_cast<int>(members.size()) < comm->size)
    return;
  std::vector<ncclComm *> all = std::move(members);
  forming().erase(id);
  std::sort(all.begin(), all.end(),
            [](const ncclComm *a, const ncclComm *b) { return a->rank < b->rank; });
  form(all);
  theChange().notify_all();
}

void split(ncclComm *parent, ncclComm *made, int color, int key) {
  Clique &clique = *parent->clique;
  uint64_t number = parent->splits++;
  auto &parts = clique.splits[number];
  parts[parent->rank] = {made, color, key};
  if (parts.size() < clique.members.size())
    return;
  std::map<int, std::vector<std::tuple<int, int, ncclComm *>>> colors;
  for (const auto &[rank, part] : parts)
    if (part.made)
      colors[part.color].push_back({part.key, rank, part.made});
  for (auto &[each, members] : colors) {
    std::sort(members.begin(), members.end());
    std::vector<ncclComm *> ordered;
    for (const auto &[itsKey, rank, comm] : members) {
      comm->rank = static_cast<int>(ordered.size());
      ordered.push_back(comm);
    }
    form(ordered);
  }
  for (ncclComm *member : clique.members)
    if (member->state == ncclInProgress)
      member->state = ncclSuccess;
  clique.splits.erase(number);
  theChange().notify_all();
}

void abort(ncclComm *comm) {
  for (auto it = forming().begin(); it != forming().end();) {
    std::erase(it->second, comm);
    it = it->second.empty() ? forming().erase(it) : std::next(it);
  }
  if (comm->clique) {
    comm->clique->isBroken = true;
    std::erase(comm->clique->members, comm);
  }
  comm->isDestroyed = true;
  auto open = std::move(comm->open);
  for (const TaskPtr &task : open) {
    if (task->state == Task::Running)
      finish(task, CUDA_ERROR_LAUNCH_FAILED);
    else if (task->state != Task::Done)
      task->error = CUDA_ERROR_LAUNCH_FAILED;
  }
}

} // namespace pipemesh::cuda::standin
