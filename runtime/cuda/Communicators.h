//===- Communicators.h - NCCL's, one for each group of ranks --------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_COMMUNICATORS_H
#define PIPEMESH_RUNTIME_CUDA_COMMUNICATORS_H

#include "cuda/Carrier.h"
#include "cuda/Divisions.h"

#include <mutex>

namespace pipemesh::cuda {

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
