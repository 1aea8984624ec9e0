//===- Supervisor.cpp - A process that says why another one ended ---------===//

#include "launch/Supervisor.h"

#include "host/FlightRecorder.h"
#include "launch/Watch.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipemesh::runtime {

static volatile pid_t supervised = 0;

static volatile sig_atomic_t asked = 0;
static int wakeEnd = -1;

static void passOn(int number) {
  if (number == SIGTERM)
    asked = 1;
  if (supervised > 0)
    kill(supervised, number);
}

static void wake(int) {
  int before = errno;
  (void)!write(wakeEnd, "", 1);
  errno = before;
}

/// Waits for the end of the child and serves the watch meanwhile.
static int waitWatching(pid_t child, Watch &watch, int wakeStart) {
  int ended = 0;
  bool leaving = false;
  while (true) {
    pid_t result = waitpid(child, &ended, WNOHANG);
    if (result == child || (result < 0 && errno != EINTR))
      return ended;
    watch.turn(wakeStart, 1000);
    char bytes[64];
    while (read(wakeStart, bytes, sizeof(bytes)) > 0)
      continue;
    if (asked && !leaving) {
      leaving = true;
      watch.explainEnd();
      watch.sayGoodbye();
    }
  }
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

int supervise(bool together,
              const std::function<int(Supervised &, int)> &work) {
  void *shared = mmap(nullptr, sizeof(Supervised), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    fail("cannot share memory with a process: ", std::strerror(errno));
  auto &status = *new (shared) Supervised;
  int ends[2] = {-1, -1}, wakes[2] = {-1, -1};
  if (together && (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
                   pipe2(wakes, O_CLOEXEC | O_NONBLOCK) != 0))
    fail("cannot make a socket: ", std::strerror(errno));
  int64_t killsBefore = memoryKills();
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0)
    fail("cannot start a process: ", std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    if (together)
      for (int end : {ends[0], wakes[0], wakes[1]})
        close(end);
    std::exit(work(status, ends[1]));
  }
  supervised = child;
  std::optional<Watch> watch;
  if (together) {
    close(ends[1]);
    watch.emplace(ends[0], status);
    wakeEnd = wakes[1];
  }
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = passOn;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP})
    sigaction(number, &action, nullptr);
  int ended = 0;
  if (watch) {
    action.sa_handler = wake;
    sigaction(SIGCHLD, &action, nullptr);
    // What it said last comes before its end.
    ended = waitWatching(child, *watch, wakes[0]);
    watch->turn(-1, 0);
    watch->finish();
  } else {
    while (waitpid(child, &ended, 0) < 0)
      if (errno != EINTR)
        return 1;
  }
  if (WIFEXITED(ended)) {
    if (watch)
      watch->sayGoodbye();
    return WEXITSTATUS(ended);
  }
  int number = WTERMSIG(ended);
  // Whoever asked for the end knows it.
  bool meant = number == SIGINT || number == SIGTERM || number == SIGHUP ||
               number == SIGUSR1;
  bool printed = (watch && watch->isOver()) || (asked && number == SIGKILL);
  if (!meant && !printed && !status.reported) {
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
    if (!watch || !watch->tell(text))
      std::fprintf(stderr, "pmrun: error: %s%s\n", text.c_str(),
                   JobEnd::whereToRead(status.flight).c_str());
  }
  if (watch)
    watch->sayGoodbye();
  return 128 + number;
}

} // namespace pipemesh::runtime
