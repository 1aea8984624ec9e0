//===- Nccl.cpp - libnccl.so.2 --------------------------------------------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/Communicator.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/Memory.h"
#include "cuda/standin/Objects.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace pipemesh::cuda {

using namespace standin;

namespace {

/// The group that a thread has open.
struct Group {
  int depth = 0;
  uint64_t number = 0;
  struct Part {
    ncclComm *comm = nullptr;
    std::vector<Operation> operations;
    bool isStuck = false;
  };
  std::vector<Part> parts;
  /// Communicators that are made in it, which its end waits for.
  std::vector<ncclComm *> made;
  ncclResult_t error = ncclSuccess;
};

thread_local Group group;
thread_local std::string lastError;

std::set<ncclComm *> &communicators() {
  static auto &all = *new std::set<ncclComm *>;
  return all;
}

ncclComm *makeComm(CUcontext context) {
  static unsigned count = 0;
  auto *made = new ncclComm;
  made->number = ++count;
  made->context = context;
  communicators().insert(made);
  return made;
}

bool isAlive(ncclComm *comm) {
  return comm && communicators().count(comm) && !comm->isDestroyed;
}

ncclResult_t wrong(Call &call, ncclResult_t error, const std::string &text) {
  lastError = text;
  if (group.depth && !group.error)
    group.error = error;
  return call.done(error);
}

/// The communicator, or none with what is wrong in `result`.
bool isUsable(Call &call, ncclComm *comm, ncclResult_t &result) {
  if (!isAlive(comm)) {
    result = wrong(call, ncclInvalidArgument, "there is no such communicator");
    return false;
  }
  if (comm->state == ncclInProgress) {
    result = wrong(call, ncclInvalidArgument,
                   "the communicator is used before its previous call has succeeded; "
                   "poll ncclCommGetAsyncError until it says so");
    return false;
  }
  if (comm->state != ncclSuccess) {
    result = wrong(call, comm->state, comm->text);
    return false;
  }
  return true;
}

/// Waits for what the members do together, where the communicator is a blocking one.
ncclResult_t settle(std::unique_lock<std::mutex> &lock, ncclComm *comm) {
  if (!comm->isBlocking)
    return comm->state == ncclSuccess ? ncclInProgress : comm->state;
  if (group.depth) {
    group.made.push_back(comm);
    return ncclSuccess;
  }
  theChange().wait(lock, [&] { return comm->state != ncclInProgress; });
  return comm->state;
}

/// Issues the parts of a group, each as one task that is behind all of its streams.
void launchParts(std::vector<Group::Part> &parts) {
  for (Group::Part &part : parts) {
    std::vector<CUstream> streams;
    for (const Operation &operation : part.operations)
      if (std::find(streams.begin(), streams.end(), operation.stream) == streams.end())
        streams.push_back(operation.stream);
    auto exchange = std::make_shared<GroupLaunch>();
    exchange->comm = part.comm;
    exchange->operations = std::move(part.operations);
    launch(streams, exchange, part.isStuck);
  }
  parts.clear();
}

ncclResult_t enqueue(Operation operation, ncclComm *comm, CUstream handle) {
  Call call(operation.name());
  std::lock_guard guard(theLock());
  ncclResult_t result = ncclSuccess;
  if (!isUsable(call, comm, result))
    return result;
  CUstream stream = streamOf(handle);
  int size = bytesOfNumber(operation.type);
  bool isTransfer =
      operation.kind == Operation::Send || operation.kind == Operation::Receive;
  bool isReduction = operation.kind == Operation::AllReduce ||
                     operation.kind == Operation::ReduceScatter;
  if (!stream || !size)
    return wrong(call, ncclInvalidArgument, "there is no such stream or type");
  call.add("comm", comm->number)
      .add("stream", stream->number)
      .add("count", operation.count)
      .add("type", operation.type);
  if (isTransfer)
    call.add("peer", operation.peer);
  else if (isReduction)
    call.add("reduction", operation.reduction);
  // Without members nobody knows how many there are.
  int ranks = comm->size < 0 ? 1 : comm->size;
  Bytes read{reinterpret_cast<uint64_t>(operation.from),
             operation.elementsRead(ranks) * size};
  Bytes written{reinterpret_cast<uint64_t>(operation.to),
                operation.elementsWritten(ranks) * size};
  if (operation.kind != Operation::Receive)
    call.addReads({read});
  if (operation.kind != Operation::Send)
    call.addWrites({written});
  call.add("group", group.depth ? group.number : 0);
  if (stream->capture)
    call.add("captured", true);
  if (call.fails()) {
    if (group.depth && !group.error)
      group.error = call.fault->code;
    return call.failed();
  }
  if (isReduction && operation.reduction != ncclSum && operation.reduction != ncclMax &&
      operation.reduction != ncclMin)
    return wrong(call, ncclInvalidArgument, "there is no such reduction");
  if (isTransfer && comm->size >= 0 &&
      (operation.peer < 0 || operation.peer >= comm->size))
    return wrong(call, ncclInvalidArgument,
                 "peer " + std::to_string(operation.peer) + " is none of " +
                     std::to_string(comm->size) + " ranks");
  if (!isAllocated(read.first, read.second) ||
      !isAllocated(written.first, written.second))
    return wrong(call, ncclInvalidArgument,
                 std::string(operation.name()) +
                     ": a buffer is outside of what is allocated");
  if (captureStatus(stream))
    return wrong(call, ncclUnhandledCudaError, "the stream's capture has failed");
  call.done();
  operation.stream = stream;
  if (call.fault && call.fault->kind == Fault::Async)
    setError(comm, call.fault->code, "the error that was asked for");
  auto &parts = group.parts;
  auto it = std::find_if(parts.begin(), parts.end(),
                         [&](const Group::Part &part) { return part.comm == comm; });
  if (it == parts.end())
    it = parts.insert(parts.end(), {comm, {}, false});
  it->operations.push_back(operation);
  it->isStuck |= call.isStuck();
  if (!group.depth)
    launchParts(parts);
  return ncclSuccess;
}

std::string hexOf(const ncclUniqueId &id) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    unsigned char c = id.internal[i];
    text += digits[c >> 4];
    text += digits[c & 15];
  }
  return text;
}

bool blocks(const ncclConfig_t *config, bool otherwise) {
  return !config || config->blocking == NCCL_CONFIG_UNDEF_INT ? otherwise
                                                              : config->blocking != 0;
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  Call call("ncclGetVersion");
  if (call.fails())
    return call.failed();
  *version = 23000;
  return call.done();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  Call call("ncclGetUniqueId");
  if (call.fails())
    return call.failed();
  std::random_device random;
  for (char &c : id->internal)
    c = static_cast<char>(random());
  return call.add("id", hexOf(*id)).done();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int ranks,
                                    ncclUniqueId id, int rank, ncclConfig_t *config) {
  Call call("ncclCommInitRankConfig");
  std::unique_lock lock(theLock());
  call.add("id", hexOf(id)).add("rank", rank).add("ranks", ranks);
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return wrong(call, ncclUnhandledCudaError, "no context is current");
  if (CUresult refused = refuseInCapture(call.who))
    return wrong(call, ncclUnhandledCudaError,
                 "CUDA error " + std::to_string(refused) + " in a capture");
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return wrong(call, ncclInvalidArgument,
                 "rank " + std::to_string(rank) + " is none of " +
                     std::to_string(ranks) + " ranks");
  ncclComm *made = makeComm(call.who.context);
  made->rank = rank;
  made->size = ranks;
  made->isBlocking = blocks(config, true);
  *communicator = made;
  call.add("comm", made->number);
  if (call.fault && call.fault->kind == Fault::Async)
    setError(made, call.fault->code, "the error that was asked for");
  else if (!options().isComputing && !call.isStuck())
    made->state = ncclSuccess;
  else if (!call.isStuck())
    join(made, std::string(id.internal, sizeof(id.internal)));
  return call.done(settle(lock, made));
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *made,
                           ncclConfig_t *config) {
  Call call("ncclCommSplit");
  std::unique_lock lock(theLock());
  ncclResult_t result = ncclSuccess;
  if (!isUsable(call, parent, result))
    return result;
  call.add("parent", parent->number).add("color", color).add("key", key);
  if (call.fails())
    return call.failed();
  if (CUresult refused = refuseInCapture(call.who))
    return wrong(call, ncclUnhandledCudaError,
                 "CUDA error " + std::to_string(refused) + " in a capture");
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
    return wrong(call, ncclInvalidArgument, "a color is negative");
  ncclComm *child = color == NCCL_SPLIT_NOCOLOR ? nullptr : makeComm(call.who.context);
  *made = child;
  call.add("comm", child ? child->number : 0);
  if (child)
    child->isBlocking = blocks(config, parent->isBlocking);
  if (call.fault && call.fault->kind == Fault::Async) {
    setError(child ? child : parent, call.fault->code, "the error that was asked for");
  } else if (options().isComputing) {
    parent->state = ncclInProgress;
    if (!call.isStuck())
      split(parent, child, color, key);
  } else if (child && !call.isStuck()) {
    child->state = ncclSuccess;
  }
  result = settle(lock, parent);
  if (child && (!result || result == ncclInProgress))
    result = settle(lock, child);
  return call.done(result);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call("ncclCommFinalize");
  std::unique_lock lock(theLock());
  ncclResult_t result = ncclSuccess;
  if (!isUsable(call, comm, result))
    return result;
  call.add("comm", comm->number);
  if (call.fails())
    return call.failed();
  comm->isFinalizing = true;
  return call.done(comm->isBlocking ? ncclSuccess : ncclInProgress);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Call call("ncclCommDestroy");
  std::lock_guard guard(theLock());
  if (!isAlive(comm))
    return wrong(call, ncclInvalidArgument, "there is no such communicator");
  call.add("comm", comm->number);
  if (call.fails())
    return call.failed();
  comm->isDestroyed = true;
  return call.done();
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Call call("ncclCommAbort");
  std::lock_guard guard(theLock());
  if (!isAlive(comm))
    return wrong(call, ncclInvalidArgument, "there is no such communicator");
  call.add("comm", comm->number);
  if (call.fails())
    return call.failed();
  call.done();
  // The process may end without more ado.
  call.who.trace.flush();
  standin::abort(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  Call call("ncclCommGetAsyncError");
  std::lock_guard guard(theLock());
  if (!isAlive(comm))
    return wrong(call, ncclInvalidArgument, "there is no such communicator");
  call.add("comm", comm->number);
  if (call.fails())
    return call.failed();
  *error = comm->state;
  call.add("error", *error);
  auto [it, isNew] =
      call.who.trace.polls.try_emplace({"ncclCommGetAsyncError", comm->number}, -1);
  if (it->second != *error) {
    it->second = *error;
    call.done();
  }
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type,
                           int reduction, ncclComm_t communicator, CUstream stream) {
  return enqueue({Operation::AllReduce, from, to, count, type, reduction}, communicator,
                 stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t sendCount, int type,
                           ncclComm_t communicator, CUstream stream) {
  return enqueue({Operation::AllGather, from, to, sendCount, type}, communicator,
                 stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t receiveCount,
                               int type, int reduction, ncclComm_t communicator,
                               CUstream stream) {
  return enqueue({Operation::ReduceScatter, from, to, receiveCount, type, reduction},
                 communicator, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, int type, int peer,
                      ncclComm_t communicator, CUstream stream) {
  return enqueue({Operation::Send, from, nullptr, count, type, 0, peer}, communicator,
                 stream);
}

ncclResult_t ncclRecv(void *to, size_t count, int type, int peer,
                      ncclComm_t communicator, CUstream stream) {
  return enqueue({Operation::Receive, nullptr, to, count, type, 0, peer}, communicator,
                 stream);
}

ncclResult_t ncclGroupStart() {
  Call call("ncclGroupStart");
  if (call.fails())
    return call.failed();
  if (group.depth++ == 0)
    group.number = ++call.who.groups;
  return call.add("group", group.number).done();
}

ncclResult_t ncclGroupEnd() {
  Call call("ncclGroupEnd");
  std::unique_lock lock(theLock());
  call.add("group", group.number);
  if (!group.depth)
    return call.done(ncclInvalidUsage);
  if (--group.depth)
    return call.done();
  ncclResult_t error = call.fails() ? call.fault->code : group.error;
  group.error = ncclSuccess;
  if (error) {
    group.parts.clear();
    group.made.clear();
    return call.done(error);
  }
  call.done();
  if (call.isStuck())
    for (Group::Part &part : group.parts)
      part.isStuck = true;
  if (call.fault && call.fault->kind == Fault::Async)
    for (Group::Part &part : group.parts)
      setError(part.comm, call.fault->code, "the error that was asked for");
  launchParts(group.parts);
  ncclResult_t result = ncclSuccess;
  for (ncclComm *comm : std::exchange(group.made, {}))
    if (ncclResult_t failed = settle(lock, comm))
      result = failed;
  return result;
}

const char *ncclGetErrorString(ncclResult_t result) {
  static const char *const texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return result < 0 || result > ncclInProgress ? "unknown result code" : texts[result];
}

const char *ncclGetLastError(ncclComm_t comm) {
  std::lock_guard guard(theLock());
  if (comm && communicators().count(comm) && !comm->text.empty())
    return comm->text.c_str();
  return lastError.c_str();
}

} // extern "C"

} // namespace pipemesh::cuda
