//===- Launcher.h - Runs under mpirun, or starts it -----------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_LAUNCHER_H
#define PIPEMESH_RUNTIME_LAUNCH_LAUNCHER_H

#include "launch/LaunchEnvironment.h"
#include "launch/Options.h"

namespace pipemesh::runtime {

/// What Open MPI's mpirun told this process by its environment.
struct MpiEnvironment {
  bool present = false;
  int64_t rank = 0, size = 1;
};
MpiEnvironment mpiEnvironment();

/// Whether ranks are processes: as --transport says, else under mpirun. Throws
/// where that cannot be.
bool usesMpi(const Options &options, const MpiEnvironment &environment);

/// Whether srun or torchrun has started this process as one of several ranks on GPUs,
/// which meet over TCP.
bool usesTcp(const Options &options, const LaunchEnvironment &environment);

/// Starts mpirun with this command's arguments and as many processes as the
/// bundle has ranks, waits for it and returns its status. Ctrl-C is passed to
/// the ranks as SIGUSR1, which asks them for an end after the step in progress;
/// mpirun itself would kill them after a second.
int startMpirun(const std::vector<std::string> &arguments,
                const std::string &bundle);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_LAUNCHER_H
