//===- Divisions.cpp - The groups in which ranks meet ---------------------===//

#include "cuda/Divisions.h"

#include "core/Error.h"
#include "core/Instruction.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pipemesh::cuda {

using runtime::cat;
using runtime::fail;

static std::string nameOf(const Mesh &mesh,
                          const pmrt_communicator &communicator) {
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

static size_t find(const std::vector<Division> &divisions,
                   const std::string &name) {
  for (size_t i = 0; i < divisions.size(); ++i)
    if (divisions[i].name == name)
      return i;
  fail("no group of ranks is called '", name, "'");
}

size_t divisionOf(const std::vector<Division> &divisions, const Mesh &mesh,
                  const pmrt_communicator &communicator) {
  return find(divisions, nameOf(mesh, communicator));
}

size_t divisionOf(const std::vector<Division> &divisions,
                  const TransferLane &lane) {
  return find(divisions, nameOf(lane));
}

} // namespace pipemesh::cuda
