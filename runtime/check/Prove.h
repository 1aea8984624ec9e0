//===- Prove.h - The proof of a whole program -----------------------------===//

#ifndef PIPEMESH_RUNTIME_CHECK_PROVE_H
#define PIPEMESH_RUNTIME_CHECK_PROVE_H

#include "check/Live.h"
#include "core/Manifest.h"
#include "pmrt/pmrt.h"

namespace pipemesh::proof {

struct ProveOptions {
  /// Bytes of a rank; 0 for any number.
  uint64_t memoryLimit = 0;
  /// Threads of a rank, each of which has scratch of kernels and packs matrices.
  uint64_t threads = 1;
};

/// What was counted in a role; the bytes are those of each of its ranks.
struct RoleProof {
  std::string file;
  uint64_t bodies = 0, instructions = 0, actions = 0;
  uint64_t collectives = 0; ///< of a rank in a step; those in loops once
  uint64_t sends = 0, receives = 0;
  uint64_t arena = 0;         ///< all buffers and the scratch region
  uint64_t kernelScratch = 0; ///< of each thread
  /// Of each thread: oneDNN packs at most both operands of a product.
  uint64_t gemmPacking = 0;
  uint64_t inFlight = 0; ///< messages that wait for their receive
  uint64_t threads = 1;
  uint64_t peak() const {
    return arena + threads * (kernelScratch + gemmPacking) + inFlight;
  }
  LiveFacts live; ///< the part of the arena that is in use at one time
};

struct Proof {
  int64_t ranks = 0;
  uint64_t microBatches = 0;
  uint64_t communicators = 0; ///< groups of ranks that meet
  uint64_t collectives = 0;   ///< of all ranks in a step
  uint64_t channels = 0, transfers = 0, meetings = 0; ///< between roles
  uint64_t actions = 0;
  uint64_t memoryLimit = 0;
  /// Whether no role waits forever even where a send keeps its slot until it is
  /// received; else how they would.
  bool needsNoBuffers = true;
  std::string cycleWithoutBuffers;
  /// What the proof relies on and tables do not say.
  std::vector<std::string> reliesOn;
  std::vector<RoleProof> roles;
};

/// Proves, for all ranks of the mesh, that the program of these roles runs to its
/// end and that each access finds what it is meant to; throws a Refused with a
/// counterexample. The time is linear in the instructions of bodies and the
/// actions of roles.
Proof prove(const runtime::Manifest &manifest,
            const std::vector<const pmrt_role *> &roles,
            const ProveOptions &options = {});

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_PROVE_H
