//===- Communicators.cpp - NCCL's, one for each group of ranks ------------===//

#include "cuda/Communicators.h"

#include <utility>

namespace pipemesh::cuda {

Communicators::Communicators(
    const Libraries &libraries, const ncclUniqueId &id, int ranks, int rank,
    const std::vector<Division> &divisions,
    const std::function<void(const std::string &)> &keepWaiting)
    : libraries(libraries), divisions(divisions), keepWaiting(keepWaiting),
      made(divisions.size(), nullptr) {
  ncclConfig_t config;
  config.blocking = 0;
  libraries.checkNccl(
      libraries.ncclCommInitRankConfig(&world, ranks, id, rank, &config), nullptr,
      "ncclCommInitRankConfig of rank ", rank, " of ", ranks);
  settle(world, "the communicator of all ranks");
  for (size_t d = 0; d < divisions.size(); ++d) {
    const Division &division = divisions[d];
    libraries.checkNccl(libraries.ncclCommSplit(world, division.colors[rank],
                                                division.keys[rank], &made[d],
                                                nullptr),
                        world, "ncclCommSplit for ", division.name);
    settle(world, cat("the communicator of ", division.name));
    if (division.colors[rank] < 0)
      made[d] = nullptr;
    else
      settle(made[d], cat("the communicator of ", division.name));
  }
}

Communicators::~Communicators() {
  std::lock_guard lock(mutex);
  if (isAborted)
    return;
  for (ncclComm_t communicator : made)
    if (communicator)
      libraries.ncclCommDestroy(communicator);
  if (world)
    libraries.ncclCommDestroy(world);
}

void Communicators::settle(ncclComm_t communicator, const std::string &what) const {
  while (true) {
    ncclResult_t state = ncclSuccess;
    libraries.checkNccl(libraries.ncclCommGetAsyncError(communicator, &state),
                        communicator, what);
    if (state == ncclSuccess)
      return;
    if (state != ncclInProgress)
      fail(what, ": ", libraries.ncclText(state, communicator));
    keepWaiting(what);
  }
}

std::string Communicators::problem() const {
  auto look = [&](ncclComm_t communicator, const std::string &name) -> std::string {
    ncclResult_t state = ncclSuccess;
    if (!communicator)
      return "";
    ncclResult_t asked = libraries.ncclCommGetAsyncError(communicator, &state);
    if (asked != ncclSuccess)
      state = asked;
    return state == ncclSuccess || state == ncclInProgress
               ? ""
               : cat("NCCL's communicator of ", name, " has failed: ",
                     libraries.ncclText(state, communicator));
  };
  for (size_t d = 0; d < made.size(); ++d)
    if (std::string text = look(made[d], divisions[d].name); !text.empty())
      return text;
  return look(world, "all ranks");
}

void Communicators::abort() {
  std::lock_guard lock(mutex);
  if (std::exchange(isAborted, true))
    return;
  for (ncclComm_t communicator : made)
    if (communicator)
      libraries.ncclCommAbort(communicator);
  if (world)
    libraries.ncclCommAbort(world);
}

} // namespace pipemesh::cuda
