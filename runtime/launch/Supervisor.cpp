//===- Supervisor.cpp - A process that says why another one ended ---------===//

#include "launch/Supervisor.h"

#include "host/FlightRecorder.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipemesh::runtime {

static volatile pid_t supervised = 0;

static void passOn(int number) {
  if (supervised > 0)
    kill(supervised, number);
}

/// How many processes the system has killed for memory so far.
static int64_t memoryKills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (int64_t value = 0; file >> name >> value;)
    if (name == "oom_kill")
      return value;
  return -1;
}

static std::string signalText(int number) {
  const char *name = sigabbrev_np(number);
  return name ? cat(number, " (SIG", name, ")") : cat(number);
}

int supervise(const std::function<int(Supervised &)> &work) {
  void *shared = mmap(nullptr, sizeof(Supervised), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    fail("cannot share memory with a process: ", std::strerror(errno));
  auto &status = *new (shared) Supervised;
  int64_t killsBefore = memoryKills();
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0)
    fail("cannot start a process: ", std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    std::exit(work(status));
  }
  supervised = child;
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = passOn;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP})
    sigaction(number, &action, nullptr);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR)
      return 1;
  if (WIFEXITED(ended))
    return WEXITSTATUS(ended);
  int number = WTERMSIG(ended);
  // Whoever asked for the end knows it.
  bool asked = number == SIGINT || number == SIGTERM || number == SIGHUP ||
               number == SIGUSR1;
  if (!asked && !status.reported) {
    int64_t step = status.step, kills = memoryKills();
    std::string text =
        cat("the process of ", *status.who ? status.who : "this command",
            " was killed by signal ", signalText(number));
    if (step >= 0)
      text += cat(" in step ", step);
    if (number == SIGKILL)
      text += kills > killsBefore
                  ? "; the system ran out of memory: use more micro-batches, "
                    "or a mesh with more tensor or pipeline ranks"
                  : "; if nobody did that on purpose, see in the system's log "
                    "(dmesg) whether it ran out of memory";
    if (status.rank >= 0)
      if (auto last = lastFlight(flightPath(status.flight, status.rank)))
        text += cat("; its last was ", entryText(*last),
                    last->end ? "" : ", which it was in");
    if (*status.flight)
      text += cat("; pmrun --read-flight=", status.flight,
                  " shows what all did last");
    std::fprintf(stderr, "pmrun: error: %s\n", text.c_str());
  }
  return 128 + number;
}

} // namespace pipemesh::runtime
