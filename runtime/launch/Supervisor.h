//===- Supervisor.h - A process that says why another one ended -----------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_SUPERVISOR_H
#define PIPEMESH_RUNTIME_LAUNCH_SUPERVISOR_H

#include <atomic>
#include <cstdint>
#include <functional>

namespace pipemesh::runtime {

/// What the supervised process tells about itself, in memory that both share.
struct Supervised {
  char who[256] = {};                ///< "ranks 0 to 7", "rank 3 (dp=1)"
  char flight[4096] = {};            ///< folder of the flight records
  char bundle[4096] = {};            ///< the one that runs
  std::atomic<int64_t> rank{-1};     ///< of a process that has only one
  std::atomic<int64_t> step{-1};     ///< the one in progress
  std::atomic<bool> reported{false}; ///< the end has a message already
};

/// Runs `work` in a child process and returns the status to exit with: the
/// child's, or 128 and the number of the signal that killed it, after a line
/// that names the ranks and the signal. Signals that ask for an end are passed
/// on to the child; the child ends with this process. Called before any thread
/// is started. `work` gets a socket to this process where it is one of several
/// that are watched together, else -1.
int supervise(bool together,
              const std::function<int(Supervised &, int socket)> &work);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_SUPERVISOR_H
