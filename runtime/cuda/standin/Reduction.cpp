//===- Reduction.cpp - sums, maxima and minima over ranks -----------------===//

#include "cuda/standin/Reduction.h"
#include "cuda/Api.h"
#include "cuda/standin/Numbers.h"

#include <algorithm>

namespace pipemesh::cuda::standin {

namespace {

/// `T` is how numbers lie in memory, `Sum` what they are added as.
template <typename T, typename Sum>
void reduceAs(int reduction, uint64_t count, const std::vector<const void *> &from,
              void *to) {
  for (uint64_t i = 0; i < count; ++i) {
    Sum result = static_cast<Sum>(static_cast<const T *>(from[0])[i]);
    for (size_t rank = 1; rank < from.size(); ++rank) {
      Sum value = static_cast<Sum>(static_cast<const T *>(from[rank])[i]);
      result = reduction == ncclSum   ? static_cast<Sum>(result + value)
               : reduction == ncclMax ? std::max(result, value)
                                      : std::min(result, value);
    }
    static_cast<T *>(to)[i] = static_cast<T>(result);
  }
}

} // namespace

void reduce(int type, int reduction, uint64_t count,
            const std::vector<const void *> &from, void *to) {
  switch (type) {
#define CASE(name, T, Sum)                                                             \
  case name:                                                                           \
    return reduceAs<T, Sum>(reduction, count, from, to)
    // Sums of integers wrap around.
    CASE(ncclInt8, int8_t, int32_t);
    CASE(ncclUint8, uint8_t, uint32_t);
    CASE(ncclInt32, int32_t, int64_t);
    CASE(ncclUint32, uint32_t, uint64_t);
    CASE(ncclFloat16, Half, float);
    CASE(ncclFloat32, float, float);
    CASE(ncclFloat64, double, double);
    CASE(ncclBfloat16, Brain, float);
    CASE(ncclUint64, uint64_t, uint64_t);
  case ncclInt64:
    if (reduction == ncclSum)
      return reduceAs<uint64_t, uint64_t>(reduction, count, from, to);
    return reduceAs<int64_t, int64_t>(reduction, count, from, to);
#undef CASE
  default:
    return;
  }
}

} // namespace pipemesh::cuda::standin
