//===- Reduce.h - Element-wise reduction over ranks' buffers --------------===//

#ifndef PIPEMESH_RUNTIME_HOST_REDUCE_H
#define PIPEMESH_RUNTIME_HOST_REDUCE_H

#include "pmrt/pmrt.h"

namespace pipemesh::runtime {

/// Reduces elements [begin, end) of `members` arrays in the order of the
/// arrays, and writes the result into every one of them.
/// Any type of numbers but i1; complex ones by their sum only. Sums of bf16 and
/// f16 are rounded after each member.
void reduceInPlace(void *const *arrays, int64_t members, int64_t begin,
                   int64_t end, uint32_t dtype, uint32_t reduction);

/// The same over elements [0, count), with the result only in `result`.
void reduceInto(void *result, const void *const *arrays, int64_t members,
                int64_t count, uint32_t dtype, uint32_t reduction);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_REDUCE_H
