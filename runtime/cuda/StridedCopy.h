//===- StridedCopy.h - Blocks of arrays, copied by the driver -------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H
#define PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H

#include "cuda/Libraries.h"
#include "pmrt/pmrt.h"

namespace pipemesh::cuda {

/// Rows of an array: where the first one begins, and how far apart they are in bytes.
struct StridedPlace {
  CUdeviceptr begin;
  uint64_t pitch;
};

/// Copies `rows` rows of `width` bytes. Nothing where there are none.
void copyRows(const Libraries &libraries, const StridedPlace &from,
              const StridedPlace &to, uint64_t width, uint64_t rows, CUstream stream);

/// Copies what member `from` of an all-to-all sends to member `to` between an operand
/// and a packed place: out of the operand before (`pack`), or into the one after.
void copyExchanged(const Libraries &libraries, const pmrt_all_to_all &exchange,
                   int64_t from, int64_t to, CUdeviceptr operand, CUdeviceptr packed,
                   bool pack, CUstream stream);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H
