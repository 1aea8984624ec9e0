//===- StridedCopy.h - Blocks of arrays, copied by the driver -------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H
#define PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H

#include "cuda/Api.h"
#include "pmrt/pmrt.h"

#include <vector>

namespace pipemesh::cuda {

/// Rows of an array: where the first one begins, how far apart they are in
/// bytes, and how many of them lie between slices.
struct StridedPlace {
  CUdeviceptr begin;
  uint64_t pitch;
  uint64_t height = 1;
};

/// A copy of `slices` of `rows` of `width` bytes, as one call of the driver
/// makes it: a plain one of one row and slice, in two dimensions of one slice,
/// or in three.
struct StridedCopy {
  StridedPlace from, to;
  uint64_t width, rows = 1, slices = 1;
};

/// Appends the copy of `rows` rows of `width` bytes. Nothing where there are
/// none.
void addRows(std::vector<StridedCopy> &copies, const StridedPlace &from,
             const StridedPlace &to, uint64_t width, uint64_t rows);

/// Appends the copies of what member `from` of an all-to-all sends to member
/// `to` between an operand and a packed place: out of the operand before
/// (`pack`), or into the one after.
void addExchanged(std::vector<StridedCopy> &copies,
                  const pmrt_all_to_all &exchange, int64_t from, int64_t to,
                  CUdeviceptr operand, CUdeviceptr packed, bool pack);

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STRIDEDCOPY_H
