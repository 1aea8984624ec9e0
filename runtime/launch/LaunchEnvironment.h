//===- LaunchEnvironment.h - What a launcher has told this process --------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_LAUNCHENVIRONMENT_H
#define PIPEMESH_RUNTIME_LAUNCH_LAUNCHENVIRONMENT_H

#include <cstdint>
#include <functional>
#include <string>

namespace pipemesh::runtime {

/// Which launcher has started this process, as which of its ranks.
struct LaunchEnvironment {
  enum Launcher { None, Mpirun, Torchrun, Srun };
  Launcher launcher = None;
  int64_t rank = 0, size = 1;
  /// Among the processes of this machine; -1 where the launcher does not say.
  int64_t localRank = 0;
  /// Where rank 0 listens; of torchrun and srun.
  std::string host;
  int port = 0;
  /// What the processes of one job have in common, and other jobs have not.
  std::string job;

  /// Whether the processes have to meet over TCP.
  bool meetsOverTcp() const { return launcher == Torchrun || launcher == Srun; }
  const char *name() const;
};

/// A variable of the environment; null where it is not set.
using Variable = std::function<const char *(const char *)>;

/// Reads the variables of Open MPI's mpirun, of torchrun (RANK, WORLD_SIZE,
/// LOCAL_RANK, MASTER_ADDR, MASTER_PORT), and of srun (SLURM_PROCID,
/// SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_NODELIST or
/// SLURM_LAUNCH_NODE_IPADDR); the first of them that is there decides.
/// `rendezvous` is HOST:PORT or empty: then it is MASTER_ADDR with the port
/// behind MASTER_PORT, or the first machine of the step with a port of 15000 to
/// 29999 that follows from the numbers of job and step. Throws an Error that
/// names the variable and its value where it makes no sense.
LaunchEnvironment launchEnvironment(const Variable &variable,
                                    const std::string &rendezvous = "");
/// Of this process.
LaunchEnvironment launchEnvironment(const std::string &rendezvous = "");

/// The first machine of a list such as "node[003-008,12],other".
std::string firstMachine(const std::string &list);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_LAUNCHENVIRONMENT_H
