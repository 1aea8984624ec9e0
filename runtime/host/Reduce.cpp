//===- Reduce.cpp - Element-wise reduction over ranks' buffers ------------===//

#include "host/Reduce.h"

#include <algorithm>
#include <cstring>

// The loops are compiled for several processors; the one that fits is chosen
// when the program is loaded.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !__has_feature(address_sanitizer)
#define PIPEMESH_CLONES                                                        \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PIPEMESH_CLONES
#endif

namespace pipemesh::runtime {

// A block stays in the first-level cache between the arrays.
static constexpr int64_t blockBytes = 8192;

#define PIPEMESH_COMBINE(NAME, TYPE, EXPRESSION)                               \
  PIPEMESH_CLONES static void NAME(TYPE *__restrict x,                         \
                                   const TYPE *__restrict y, int64_t count) {  \
    for (int64_t i = 0; i < count; ++i)                                        \
      x[i] = EXPRESSION;                                                       \
  }
#define PIPEMESH_COMBINE_ALL(SUFFIX, TYPE)                                     \
  PIPEMESH_COMBINE(sum##SUFFIX, TYPE, x[i] + y[i])                             \
  PIPEMESH_COMBINE(max##SUFFIX, TYPE,                                          \
                   (x[i] < y[i] || y[i] != y[i]) ? y[i] : x[i])                \
  PIPEMESH_COMBINE(min##SUFFIX, TYPE,                                          \
                   (x[i] > y[i] || y[i] != y[i]) ? y[i] : x[i])

PIPEMESH_COMBINE_ALL(F32, float)
PIPEMESH_COMBINE_ALL(F64, double)
PIPEMESH_COMBINE_ALL(I32, int32_t)
PIPEMESH_COMBINE_ALL(I64, int64_t)

/// Reduces elements [begin, end), and writes them into each of the results.
template <typename T>
static void reduce(void *const *results, int64_t numResults,
                   const void *const *arrays, int64_t members, int64_t begin,
                   int64_t end, void (*combine)(T *, const T *, int64_t)) {
  constexpr int64_t block = blockBytes / sizeof(T);
  alignas(64) T sum[block];
  for (int64_t first = begin; first < end; first += block) {
    int64_t count = std::min(block, end - first);
    std::memcpy(sum, static_cast<const T *>(arrays[0]) + first,
                count * sizeof(T));
    for (int64_t member = 1; member < members; ++member)
      combine(sum, static_cast<const T *>(arrays[member]) + first, count);
    for (int64_t result = 0; result < numResults; ++result)
      std::memcpy(static_cast<T *>(results[result]) + first, sum,
                  count * sizeof(T));
  }
}

static void reduce(void *const *results, int64_t numResults,
                   const void *const *arrays, int64_t members, int64_t begin,
                   int64_t end, uint32_t dtype, uint32_t reduction) {
  auto choose = [&](auto sum, auto max, auto min) {
    return reduction == PMRT_SUM ? sum : reduction == PMRT_MAX ? max : min;
  };
  switch (dtype) {
  case PMRT_F32:
    return reduce<float>(results, numResults, arrays, members, begin, end,
                         choose(&sumF32, &maxF32, &minF32));
  case PMRT_F64:
    return reduce<double>(results, numResults, arrays, members, begin, end,
                          choose(&sumF64, &maxF64, &minF64));
  case PMRT_I32:
    return reduce<int32_t>(results, numResults, arrays, members, begin, end,
                           choose(&sumI32, &maxI32, &minI32));
  case PMRT_I64:
    return reduce<int64_t>(results, numResults, arrays, members, begin, end,
                           choose(&sumI64, &maxI64, &minI64));
  }
}

void reduceInPlace(void *const *arrays, int64_t members, int64_t begin,
                   int64_t end, uint32_t dtype, uint32_t reduction) {
  reduce(arrays, members, arrays, members, begin, end, dtype, reduction);
}

void reduceInto(void *result, const void *const *arrays, int64_t members,
                int64_t count, uint32_t dtype, uint32_t reduction) {
  reduce(&result, 1, arrays, members, 0, count, dtype, reduction);
}

} // namespace pipemesh::runtime
