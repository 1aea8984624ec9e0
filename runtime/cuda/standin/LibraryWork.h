//===- LibraryWork.h - what a library puts on a stream --------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_LIBRARYWORK_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_LIBRARYWORK_H

#include "cuda/standin/Call.h"

#include <functional>

namespace pipemesh::cuda::standin {

/// Work of cuBLASLt or cuDNN, with all that it touches.
struct LibraryWork {
  std::vector<Bytes> reads, writes;
  uint64_t workspace = 0;
  /// Of the workspace: what the caller gives, and what the algorithm takes of it.
  uint64_t workspaceBytes = 0, neededBytes = 0;
  /// The library's status where the stream's capture has ended in an error.
  int statusInCapture = 0;
  const char *outside = ""; ///< said where something is not allocated
  std::function<void()> compute;
};

/// Writes the call's line and lets the work run at the stream's turn, in compute mode.
/// Returns the status of the call. The lock of all state is held.
int launchWork(Call &call, CUstream stream, const LibraryWork &work);

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_LIBRARYWORK_H
