//===- Collective.h - Reductions between the ranks of a process -----------===//

#ifndef PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
#define PIPEMESH_RUNTIME_HOST_COLLECTIVE_H

#include "core/Mesh.h"
#include "host/Sync.h"
#include "host/ThreadPool.h"
#include "pmrt/pmrt.h"

namespace pipemesh::runtime {

/// The ranks that meet in the collectives of one communicator.
class Group {
public:
  Group(std::vector<int64_t> ranks, int spin)
      : ranks(std::move(ranks)), calls(this->ranks.size()),
        barrier(this->ranks.size(), spin) {}

  int64_t size() const { return ranks.size(); }
  const std::vector<int64_t> &members() const { return ranks; }

  /// Reduces the operands of all members in place, in rank order: member j
  /// reduces the j-th part of the elements of all operands straight from the
  /// members' memory and writes it to all of them. `pointers` are the operands
  /// of the calling member. Returns the nanoseconds spent waiting. Throws when
  /// the members meet with different collectives.
  uint64_t allReduce(int64_t member, const pmrt_instruction &instruction,
                     void *const *pointers, ThreadPool &pool);

  Barrier &sync() { return barrier; }

private:
  /// What a member brings to the collective in progress.
  struct Call {
    const pmrt_instruction *instruction = nullptr;
    void *const *pointers = nullptr;
  };

  std::vector<int64_t> ranks;
  std::vector<Call> calls;
  Barrier barrier;
};

/// Nanoseconds of a clock that never goes back.
uint64_t nanoseconds();

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_COLLECTIVE_H
