//===- Launcher.cpp - Runs under mpirun, or starts it ---------------------===//

#include "launch/Launcher.h"

#include "core/File.h"
#include "core/Manifest.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipemesh::runtime {

namespace fs = std::filesystem;

MpiEnvironment mpiEnvironment() {
  const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!rank || !size)
    return {};
  return {true, std::atoll(rank), std::atoll(size)};
}

bool usesTcp(const Options &options, const LaunchEnvironment &environment) {
  if (!environment.meetsOverTcp() || environment.size < 2 ||
      !options.transport.empty())
    return false;
  std::string path = options.bundle + "/manifest.json";
  try {
    return parseManifest(readTextFile(path, "manifest"), path).target.cuda;
  } catch (const Error &) {
    // Opening the bundle says what is wrong with it.
    return false;
  }
}

bool usesMpi(const Options &options, const MpiEnvironment &environment) {
  if (options.transport == "threads") {
    if (environment.present && environment.size > 1)
      fail("--transport=threads runs all ranks in one process, but mpirun "
           "started ",
           environment.size, "; leave mpirun out, or give --transport=mpi");
    return false;
  }
  bool mpi = options.transport == "mpi" || environment.present;
#ifndef PIPEMESH_HAVE_MPI
  if (mpi)
    fail("this pmrun was built without MPI; install libopenmpi-dev and "
         "openmpi-bin (tools/setup does) and build again, or run all ranks in "
         "one process with --transport=threads");
#endif
  return mpi;
}

/// The program of that name on PATH, or "".
static std::string findProgram(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    size_t colon = rest.find(':');
    std::string file = (fs::path(rest.substr(0, colon)) / name).string();
    if (access(file.c_str(), X_OK) == 0)
      return file;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

static volatile pid_t launched = 0;

static void askForEnd(int) {
  if (launched > 0)
    kill(launched, SIGUSR1);
}

int startMpirun(const std::vector<std::string> &arguments,
                const std::string &bundle) {
  std::string path = (fs::path(bundle) / "manifest.json").string();
  int64_t ranks =
      parseManifest(readTextFile(path, "manifest"), path).mesh.ranks();
  // The one of Open MPI, where others are installed too.
  std::string mpirun = findProgram("mpirun.openmpi");
  if (mpirun.empty())
    mpirun = findProgram("mpirun");
  if (mpirun.empty())
    fail("--transport=mpi: there is no mpirun.openmpi and no mpirun on PATH; "
         "install openmpi-bin (tools/setup does)");
  std::vector<std::string> command = {mpirun,
                                      "-q",
                                      "-n",
                                      std::to_string(ranks),
                                      "--bind-to",
                                      "none",
                                      "--oversubscribe",
                                      fs::read_symlink("/proc/self/exe")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : command)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (geteuid() == 0) {
    // Open MPI refuses root unless it is told twice.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  pid_t child = fork();
  if (child < 0)
    fail("cannot start mpirun: ", std::strerror(errno));
  if (child == 0) {
    // A group of its own, which the terminal's Ctrl-C does not reach.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  launched = child;
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = askForEnd;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM})
    sigaction(number, &action, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return 1;
  if (WIFSIGNALED(status))
    fail("mpirun was killed by signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == 127)
    fail("'", mpirun, "' cannot be started");
  return WEXITSTATUS(status);
}

} // namespace pipemesh::runtime
