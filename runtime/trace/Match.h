//===- Match.h - Are the calls those of the bundle? -----------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_MATCH_H
#define PIPEMESH_RUNTIME_TRACE_MATCH_H

#include "trace/Order.h"
#include "trace/Program.h"

namespace pipemesh::trace {

/// What the ops of a rank are of its program.
struct Match {
  std::vector<uint32_t> expected; ///< by op; none for what only helps
  /// By op: its place in the order of the program, steps after steps.
  std::vector<uint64_t> order;
  uint64_t base = 0; ///< address of the arena
  bool isComplete = false;
  uint64_t launches = 0; ///< of all steps: kernels and products
};

/// Compares each step of a rank with its role: nothing is missing, nothing is
/// added, and what runs on the compute stream has the order of the
/// instructions.
Match matchProgram(const Rank &rank, uint32_t number, const Program &program,
                   const runtime::Mesh &mesh,
                   const Communicators &communicators, Refusals &refusals);

/// Refuses accesses to the same bytes of which one writes, unless the one that
/// comes first in the program has ended before the other begins.
void checkConflicts(const Rank &rank, uint32_t number, const Program &program,
                    const Match &match, Refusals &refusals);

/// "rank 1, line 57: ncclSend (send of 'h0' of ...)".
std::string describe(const Rank &rank, uint32_t number, const Program &program,
                     const Match &match, uint32_t op);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_MATCH_H
