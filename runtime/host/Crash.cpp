//===- Crash.cpp - Says which instruction a fatal signal came from --------===//

#include "host/Crash.h"

#include <csignal>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace pipemesh::runtime {

static thread_local const Running *current = nullptr;

void setRunning(const Running *running) { current = running; }

// Only functions that a signal handler may call.
static void print(const char *text) {
  if (text)
    (void)!write(STDERR_FILENO, text, std::strlen(text));
}

static void print(long number) {
  char digits[24];
  char *position = digits + sizeof(digits) - 1;
  *position = 0;
  do {
    *--position = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number && position > digits);
  print(position);
}

static_assert(std::atomic<bool>::is_always_lock_free);
static std::atomic<bool> crashed{false};
static std::atomic<bool> *lineIsPrinted = nullptr;

static void onCrash(int signal) {
  // Threads of one kernel crash together; the first one reports.
  if (crashed.exchange(true))
    while (true)
      pause();
  print("pmrun: error: ");
  if (current && current->rank >= 0) {
    print("rank ");
    print(current->rank);
    print(": ");
  }
  print(signal == SIGSEGV  ? "segmentation fault"
        : signal == SIGBUS ? "bus error"
        : signal == SIGILL ? "illegal instruction"
                           : "arithmetic fault");
  if (current && current->instruction) {
    const pmrt_instruction &instruction = *current->instruction;
    print(" in ");
    if (instruction.opcode == PMRT_OP_KERNEL) {
      print("kernel '");
      print(static_cast<const pmrt_kernel *>(instruction.descriptor)->name);
      print("'");
    } else {
      print(instruction.opcode == PMRT_OP_GEMM ? "gemm" : "an instruction");
    }
    if (instruction.location && *instruction.location) {
      print(" at ");
      print(instruction.location);
    }
    if (current->body) {
      print(" of '");
      print(current->body->name);
      print("'");
    }
    print("; the compiler that wrote this bundle has a fault");
  }
  print("\n");
  if (lineIsPrinted)
    lineIsPrinted->store(true);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void installCrashHandler(std::atomic<bool> *reported) {
  lineIsPrinted = reported;
  struct sigaction action;
  std::memset(&action, 0, sizeof(action));
  action.sa_handler = onCrash;
  action.sa_flags = SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    sigaction(signal, &action, nullptr);
}

} // namespace pipemesh::runtime
