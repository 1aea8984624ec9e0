//===- Reduction.h - sums, maxima and minima over ranks -------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_REDUCTION_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_REDUCTION_H

#include <cstdint>
#include <vector>

namespace pipemesh::cuda::standin {

/// Element by element over `from`, in its order. Halves are added as float32 and
/// rounded once.
void reduce(int type, int reduction, uint64_t count,
            const std::vector<const void *> &from, void *to);

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_REDUCTION_H
