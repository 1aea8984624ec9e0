//===- Communicator.h - ranks that meet -----------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_COMMUNICATOR_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_COMMUNICATOR_H

#include "cuda/standin/Work.h"

#include <tuple>

namespace pipemesh::cuda {

namespace standin {
struct Clique;
}

/// One rank's end of a communicator. Never destroyed, as its work may outlive it.
struct ncclComm {
  unsigned number = 0;
  int rank = 0;
  /// -1 where it is not known, as nobody meets in record mode.
  int size = -1;
  CUcontext context = nullptr;
  /// All of its members, once they have met.
  std::shared_ptr<standin::Clique> clique;
  bool isBlocking = true, isFinalizing = false, isDestroyed = false;
  /// What ncclCommGetAsyncError says.
  ncclResult_t state = ncclInProgress;
  std::string text;
  /// The operation that was issued last, and those that have not ended.
  standin::TaskPtr last;
  std::set<standin::TaskPtr> open;
  uint64_t collectives = 0, splits = 0;
  std::map<int, uint64_t> sends, receives;
};

namespace standin {

struct Operation {
  enum Kind { AllReduce, AllGather, ReduceScatter, Send, Receive } kind = AllReduce;
  const void *from = nullptr;
  void *to = nullptr;
  uint64_t count = 0;
  int type = 0, reduction = 0, peer = 0;
  /// Among the collectives of the communicator, or the transfers of the pair.
  uint64_t sequence = 0;
  CUstream stream = nullptr;

  const char *name() const;
  /// What a rank reads and writes, in elements, with so many members.
  uint64_t elementsRead(int ranks) const;
  uint64_t elementsWritten(int ranks) const;
};

/// Bytes of a number of NCCL's; 0 for a type that is not known.
int bytesOfNumber(int type);

/// The operations of one communicator in a group. It ends when each has met all whom it
/// is for.
struct GroupLaunch : Exchange {
  ncclComm *comm = nullptr;
  std::vector<Operation> operations;
  TaskPtr task;
  uint64_t unfinished = 0;

  void arrive(const TaskPtr &task) override;
  std::shared_ptr<Exchange> copy() override;
  void issue(const TaskPtr &task) override;
};

// All with the lock held.

/// A member comes to a communicator that is being made.
void join(ncclComm *comm, const std::string &id);
/// A member says which part it goes to; `made` is null for none.
void split(ncclComm *parent, ncclComm *made, int color, int key);
/// Ends what is under way on this member's end, with an error.
void abort(ncclComm *comm);
void setError(ncclComm *comm, ncclResult_t error, const std::string &text);

} // namespace standin
} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_COMMUNICATOR_H
