//===- Communicators.h - NCCL's, one for each group of ranks --------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_COMMUNICATORS_H
#define PIPEMESH_RUNTIME_CUDA_COMMUNICATORS_H

#include "core/Mesh.h"
#include "cuda/Carrier.h"

#include <mutex>

namespace pipemesh::cuda {

using runtime::Mesh;

/// One way to divide all ranks into groups: all ranks split their communicator in the
/// same order, those that are in no group with no colour.
struct Division {
  std::string name;             ///< "tp", "transfers of role 0 to 1"
  std::vector<int> colors, keys; ///< of each rank; colour -1: in none
};

/// The divisions of a program: the groups of each set of axes and lane that a role's
/// collectives meet in, then each pair of roles with transfers.
std::vector<Division> divisionsOf(const std::vector<const pmrt_role *> &roles,
                                  const Mesh &mesh);
/// Where among them is a communicator of a role, or a lane of a plan.
size_t divisionOf(const std::vector<Division> &divisions, const Mesh &mesh,
                  const pmrt_communicator &communicator);
size_t divisionOf(const std::vector<Division> &divisions, const TransferLane &lane);

/// The communicators of one rank, made without blocking so that a rank that does not
/// come can be told. They are aborted where they are not finished in order.
class Communicators {
public:
  /// All ranks of the job come here. `keepWaiting` is asked while others are waited
  /// for, and throws where that is to end.
  Communicators(const Libraries &libraries, const ncclUniqueId &id, int ranks, int rank,
                const std::vector<Division> &divisions,
                const std::function<void(const std::string &)> &keepWaiting);
  ~Communicators();
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;

  /// Of a division that the rank has a part in.
  ncclComm_t get(size_t division) const { return made[division]; }

  /// Waits until a call that was accepted is under way, or throws.
  void settle(ncclComm_t communicator, const std::string &what) const;

  /// The first asynchronous error, with the division's name; "" where there is none.
  std::string problem() const;
  void abort();

private:
  const Libraries &libraries;
  const std::vector<Division> &divisions;
  const std::function<void(const std::string &)> keepWaiting;
  ncclComm_t world = nullptr;
  std::vector<ncclComm_t> made; ///< null where the rank has no part
  std::mutex mutex;
  bool isAborted = false;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_COMMUNICATORS_H
