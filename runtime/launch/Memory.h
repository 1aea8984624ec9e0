//===- Memory.h - What the memory of a process is for ---------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_MEMORY_H
#define PIPEMESH_RUNTIME_LAUNCH_MEMORY_H

#include "host/Job.h"

#include <nlohmann/json_fwd.hpp>

namespace pipemesh::runtime {

/// Lets the C library keep freed memory in one piece, by running the program
/// again with a setting that is read when it starts. oneDNN asks
/// for aligned space in every product; what is cut off in front of and behind it
/// would stay in the caches of threads (glibc's tcache) and keep its neighbours
/// apart, so that the heap of a thread grows to ten times what it holds. Returns
/// where the setting is there or cannot be made. Called before anything else.
void keepHeapsWhole(char **arguments);

/// Resident bytes of memory without a file, before there is a job: of the program,
/// and of the program with MPI.
struct StartMemory {
  uint64_t program = 0, withMpi = 0;
};

/// Resident bytes that belong to no file: heaps, stacks, arenas.
uint64_t anonymousBytes();

/// The most bytes that were resident in this process at one time (VmHWM). What
/// getrusage gives is also that of the program that started this one.
uint64_t peakMemory();

/// What this process holds, by name: {"reserves": [{"name", "bytes", "how"}],
/// "total_bytes", "resident_bytes", "loading_bytes", "peak_total_bytes",
/// "peak_resident_bytes"}. `how` is "derived" where it follows from the program
/// and the options, "counted" where the runtime counts what it allocates, and
/// "measured" where the system says it: of the files that are mapped, and of what
/// was there before the job. The rest of the total is what a run adds.
nlohmann::ordered_json memoryOf(Job &job, const StartMemory &start);

/// The same for people; `reports` has one of each process.
std::string memoryTable(const nlohmann::ordered_json &reports);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_MEMORY_H
