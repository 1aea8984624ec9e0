//===- MpiGroup.h - Collectives between processes -------------------------===//

#ifndef PIPEMESH_RUNTIME_MPI_MPIGROUP_H
#define PIPEMESH_RUNTIME_MPI_MPIGROUP_H

#include "host/Transport.h"
#include "mpi/Messages.h"

namespace pipemesh::runtime {

/// Members that send each other what they reduce or copy. The first message of
/// a member says what it brings, and is compared before anything is used; small
/// operands travel in it, and every member then reduces all of them.
class MpiGroup : public Group {
public:
  /// `number` is the same in all processes and differs between groups.
  MpiGroup(std::vector<int64_t> ranks, int number, MPI_Comm communicator)
      : Group(std::move(ranks)), number(number), communicator(communicator) {}

  uint64_t run(int64_t member, uint64_t number,
               const pmrt_instruction &instruction, void *const *pointers,
               ThreadPool &pool, const Patience &patience) override;

  /// Of what is used again by every collective.
  uint64_t heldBytes() const {
    return own.capacity() + firsts.capacity() + staging.capacity() +
           pack.capacity() + whole.capacity();
  }

private:
  enum Tag { First, Data, Result, Tags };

  struct Piece {
    std::byte *data;
    uint64_t bytes;
  };

  int tag(Tag which) const { return number * Tags + which; }

  /// Receives incoming(other) from and sends outgoing(other) to every other
  /// member, without the empty ones; returns the nanoseconds waited.
  template <typename Incoming, typename Outgoing>
  uint64_t exchange(int64_t member, Tag which, Incoming incoming,
                    Outgoing outgoing, const Patience &patience);

  /// Operands in one piece of memory, `first` in front of which there is room.
  const std::byte *packed(const pmrt_instruction &instruction,
                          void *const *pointers, uint64_t bytes);
  uint64_t largeAllReduce(int64_t member, const pmrt_instruction &instruction,
                          void *const *pointers, const Patience &patience);
  uint64_t largeAllGather(int64_t member, const pmrt_instruction &instruction,
                          void *const *pointers, const Patience &patience);
  uint64_t largeReduceScatter(int64_t member,
                              const pmrt_instruction &instruction,
                              void *const *pointers, const Patience &patience);
  uint64_t largeAllToAll(int64_t member, const pmrt_instruction &instruction,
                         void *const *pointers, const Patience &patience);
  uint64_t largePermute(int64_t member, const pmrt_instruction &instruction,
                        void *const *pointers, const Patience &patience);
  void useSmall(int64_t member, const pmrt_instruction &instruction,
                void *const *pointers, const std::vector<const void *> &all);

  const int number;
  MPI_Comm communicator;
  // Used again by every collective.
  std::vector<std::byte> own, firsts, staging, pack, whole;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_MPI_MPIGROUP_H
