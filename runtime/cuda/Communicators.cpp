//===- Communicators.cpp - NCCL's, one for each group of ranks ------------===//

#include "cuda/Communicators.h"

#include "host/Program.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pipemesh::cuda {

static std::string nameOf(const Mesh &mesh, const pmrt_communicator &communicator) {
  return runtime::laneText(mesh, communicator);
}

static std::string nameOf(const TransferLane &lane) {
  return cat("transfers of role ", lane.sender, " to ", lane.receiver);
}

std::vector<Division> divisionsOf(const std::vector<const pmrt_role *> &roles,
                                  const Mesh &mesh) {
  std::vector<Division> divisions;
  auto find = [&](const std::string &name) -> Division & {
    for (Division &division : divisions)
      if (division.name == name)
        return division;
    auto ranks = static_cast<size_t>(mesh.ranks());
    return divisions.emplace_back(Division{name, std::vector<int>(ranks, -1),
                                           std::vector<int>(ranks, 0)});
  };
  for (size_t r = 0; r < roles.size(); ++r)
    for (uint32_t c = 0; c < roles[r]->num_communicators; ++c) {
      const pmrt_communicator &communicator = roles[r]->communicators[c];
      Division &division = find(nameOf(mesh, communicator));
      std::vector<uint32_t> axes(communicator.axes,
                                 communicator.axes + communicator.num_axes);
      for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
        if (mesh.role(rank) != static_cast<int64_t>(r))
          continue;
        std::vector<int64_t> members = mesh.group(rank, axes);
        division.colors[rank] =
            static_cast<int>(*std::min_element(members.begin(), members.end()));
        division.keys[rank] = static_cast<int>(
            std::find(members.begin(), members.end(), rank) - members.begin());
      }
    }
  std::set<std::pair<uint32_t, uint32_t>> lanes;
  for (uint32_t r = 0; r < roles.size(); ++r)
    for (uint64_t a = 0; a < roles[r]->num_actions; ++a)
      if (roles[r]->actions[a].kind == PMRT_SEND)
        lanes.emplace(r, roles[r]->actions[a].peer);
  for (auto [sender, receiver] : lanes) {
    Division &division = find(nameOf(TransferLane{sender, receiver}));
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      int64_t role = mesh.role(rank);
      if (role != sender && role != receiver)
        continue;
      int64_t other = mesh.peer(rank, role == sender ? receiver : sender);
      division.colors[rank] = static_cast<int>(std::min(rank, other));
      // The sender is rank 0 of the pair.
      division.keys[rank] = role == receiver;
    }
  }
  return divisions;
}

static size_t find(const std::vector<Division> &divisions, const std::string &name) {
  for (size_t i = 0; i < divisions.size(); ++i)
    if (divisions[i].name == name)
      return i;
  fail("no group of ranks is called '", name, "'");
}

size_t divisionOf(const std::vector<Division> &divisions, const Mesh &mesh,
                  const pmrt_communicator &communicator) {
  return find(divisions, nameOf(mesh, communicator));
}

size_t divisionOf(const std::vector<Division> &divisions, const TransferLane &lane) {
  return find(divisions, nameOf(lane));
}

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
