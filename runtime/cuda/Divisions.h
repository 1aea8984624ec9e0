//===- Divisions.h - The groups in which ranks meet -----------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_DIVISIONS_H
#define PIPEMESH_RUNTIME_CUDA_DIVISIONS_H

#include "core/Mesh.h"
#include "cuda/Plan.h"

#include <string>
#include <vector>

namespace pipemesh::cuda {

using runtime::Mesh;

/// One way to divide all ranks into groups: all ranks split their communicator
/// in the same order, those that are in no group with no colour.
struct Division {
  std::string name;              ///< "tp", "transfers of role 0 to 1"
  std::vector<int> colors, keys; ///< of each rank; colour -1: in none
};

/// The divisions of a program: the groups of each set of axes and lane that a
/// role's collectives meet in, then each pair of roles with transfers.
std::vector<Division> divisionsOf(const std::vector<const pmrt_role *> &roles,
                                  const Mesh &mesh);
/// Where among them is a communicator of a role, or a lane of a plan.
size_t divisionOf(const std::vector<Division> &divisions, const Mesh &mesh,
                  const pmrt_communicator &communicator);
size_t divisionOf(const std::vector<Division> &divisions,
                  const TransferLane &lane);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_DIVISIONS_H
