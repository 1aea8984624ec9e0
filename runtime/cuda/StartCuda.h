//===- StartCuda.h - Ranks on GPUs for a job ------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STARTCUDA_H
#define PIPEMESH_RUNTIME_CUDA_STARTCUDA_H

#include "host/Rank.h"

namespace pipemesh::cuda {

/// How the ranks' data meets: over NCCL, through the host, or NCCL but where several
/// ranks share a GPU and the library does not let them.
enum class Meeting { Auto, Nccl, Staged };

struct StartOptions {
  bool capture = false; ///< launch steps as a graph
  bool tf32 = false;
  std::string algorithms; ///< folder that keeps those of products; may be empty
  Meeting meeting = Meeting::Auto;
  /// The number of this process's first rank among those of its machine.
  int localRank = 0;
};

/// Opens NVIDIA's libraries and plans the launches of a bundle for GPUs; the result
/// makes its ranks, which lie on the machine's GPUs in turn. `transport` is null where
/// all ranks are threads of this process. Collective; throws an Error that says what is
/// missing.
runtime::RankFactory startCuda(const runtime::Bundle &bundle,
                               runtime::Transport *transport,
                               const StartOptions &options);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STARTCUDA_H
