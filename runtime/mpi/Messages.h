//===- Messages.h - Nonblocking messages that are polled ------------------===//

#ifndef PIPEMESH_RUNTIME_MPI_MESSAGES_H
#define PIPEMESH_RUNTIME_MPI_MESSAGES_H

#include "core/Error.h"
#include "host/Sync.h"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace pipemesh::runtime {

/// Throws when a call of MPI has failed.
void checkMpi(int code, const char *what);

/// Messages in progress. A large one travels in several parts. Threads may have
/// messages of their own at the same time.
class Messages {
public:
  explicit Messages(MPI_Comm communicator) : communicator(communicator) {}
  Messages(const Messages &) = delete;
  Messages &operator=(const Messages &) = delete;

  void send(const void *data, uint64_t bytes, int64_t rank, int tag);
  void receive(void *data, uint64_t bytes, int64_t rank, int tag);

  /// Receives a message of at most `bytes`; `received` gets its size once
  /// `wait` has returned.
  void receiveUpTo(void *data, uint64_t bytes, int64_t rank, int tag,
                   uint64_t *received);

  /// Polls until all are done. Returns the nanoseconds that took.
  uint64_t wait(const Patience &patience = {});

  /// Whether all are done now.
  bool test();

  /// The ranks from which something has not arrived.
  std::vector<int64_t> missing() const;

private:
  MPI_Comm communicator;
  std::vector<MPI_Request> requests;
  struct Peer {
    int64_t rank;
    bool receives; ///< from it
  };
  std::vector<Peer> peers; ///< of each request
  std::vector<std::pair<size_t, uint64_t *>> sizes;
};

/// What a poll does when nothing has happened: a short while it polls again,
/// then it sleeps for longer and longer.
class Idle {
public:
  void wait();

private:
  int rounds = 0;
};

/// Rounds that `Idle` polls without sleeping; set at the start.
extern int idleSpin;

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_MPI_MESSAGES_H
