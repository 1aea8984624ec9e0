//===- Crash.h - Says which instruction a fatal signal came from ----------===//

#ifndef PIPEMESH_RUNTIME_HOST_CRASH_H
#define PIPEMESH_RUNTIME_HOST_CRASH_H

#include "pmrt/pmrt.h"

#include <atomic>

namespace pipemesh::runtime {

/// What a thread is running, for a message when a kernel crashes.
struct Running {
  long rank = -1;
  const pmrt_body *volatile body = nullptr;
  const pmrt_instruction *volatile instruction = nullptr;
};

/// Makes fatal signals on this thread name what `running` points to.
void setRunning(const Running *running);

/// Prints one line on SIGSEGV, SIGBUS, SIGILL and SIGFPE, then ends the process
/// by the same signal. `reported` becomes true when that line is printed.
void installCrashHandler(std::atomic<bool> *reported = nullptr);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_CRASH_H
