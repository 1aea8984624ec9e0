//===- Memory.h - device memory and pinned memory -------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_MEMORY_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_MEMORY_H

#include "cuda/standin/Work.h"

namespace pipemesh::cuda::standin {

struct Allocation {
  uint64_t address = 0, bytes = 0;
  bool isPinned = false;
  CUcontext context = nullptr;
};

// All with the lock held.

/// Zero where there is no room.
uint64_t allocate(CUcontext context, uint64_t bytes);
uint64_t allocatePinned(CUcontext context, uint64_t bytes);
/// False where nothing of the kind starts there.
bool release(uint64_t address, bool isPinned);

/// The allocation that an address lies in, or null.
const Allocation *find(uint64_t address);
/// All of the bytes lie in one allocation.
bool isAllocated(uint64_t address, uint64_t bytes);
bool isPinned(const void *host, uint64_t bytes);

/// Where a device address is in this process. In record mode only pinned memory is
/// somewhere.
inline void *hostOf(uint64_t address) { return reinterpret_cast<void *>(address); }

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_MEMORY_H
