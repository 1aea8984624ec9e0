//===- Prove.h - The proof of a run's calls -------------------------------===//

#ifndef PIPEMESH_RUNTIME_TRACE_PROVE_H
#define PIPEMESH_RUNTIME_TRACE_PROVE_H

#include "core/Manifest.h"
#include "pmrt/pmrt.h"
#include "trace/Refusals.h"

namespace pipemesh::trace {

/// What was counted of a rank.
struct RankFacts {
  uint64_t steps = 0, calls = 0;
  double launches = 0; ///< kernels and products of a step
  uint64_t graphLaunches = 0;
  uint64_t eventEdges = 0, redundantEdges = 0;
  uint64_t streams = 0, communicators = 0;
  uint64_t allocations = 0, bytes = 0; ///< of device memory, at the most
};

struct Facts {
  std::vector<RankFacts> ranks;
  uint64_t communicators = 0; ///< of all ranks together
};

/// Proves the calls of all ranks in `directory` against a bundle's tables, and
/// adds what is wrong to `refusals`. Throws an Error where there are no traces.
/// The time is n log n in the number of calls.
Facts proveTrace(const std::string &directory,
                 const runtime::Manifest &manifest,
                 const std::vector<const pmrt_role *> &roles,
                 Refusals &refusals);

} // namespace pipemesh::trace

#endif // PIPEMESH_RUNTIME_TRACE_PROVE_H
