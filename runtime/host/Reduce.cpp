//===- Reduce.cpp - Element-wise reduction over ranks' buffers ------------===//

#include "host/Reduce.h"

#include <algorithm>
#include <bit>
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
PIPEMESH_COMBINE_ALL(U32, uint32_t)
PIPEMESH_COMBINE_ALL(U64, uint64_t)
PIPEMESH_COMBINE_ALL(I8, int8_t)
PIPEMESH_COMBINE_ALL(U8, uint8_t)
PIPEMESH_COMBINE_ALL(I16, int16_t)
PIPEMESH_COMBINE_ALL(U16, uint16_t)

/// Types of 16 bits that are computed in float32 and rounded after each step, as
/// an op of that type does.
struct Bf16 {
  uint16_t bits;
  float get() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  static Bf16 of(float value) {
    auto wide = std::bit_cast<uint32_t>(value);
    if (value != value)
      return {static_cast<uint16_t>((wide >> 16) | 0x40)};
    return {static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16)};
  }
};
struct F16 {
  _Float16 value;
  float get() const { return static_cast<float>(value); }
  static F16 of(float wide) { return {static_cast<_Float16>(wide)}; }
};

template <typename T>
static void sumNarrow(T *x, const T *y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = T::of(x[i].get() + y[i].get());
}
template <typename T>
static void maxNarrow(T *x, const T *y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (x[i].get() < y[i].get() || y[i].get() != y[i].get())
      x[i] = y[i];
}
template <typename T>
static void minNarrow(T *x, const T *y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (x[i].get() > y[i].get() || y[i].get() != y[i].get())
      x[i] = y[i];
}

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
  // The sum of complex numbers is that of their parts.
  if (dtype == PMRT_C64 || dtype == PMRT_C128) {
    dtype = dtype == PMRT_C64 ? PMRT_F32 : PMRT_F64;
    begin *= 2;
    end *= 2;
  }
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
  case PMRT_U32:
    return reduce<uint32_t>(results, numResults, arrays, members, begin, end,
                            choose(&sumU32, &maxU32, &minU32));
  case PMRT_U64:
    return reduce<uint64_t>(results, numResults, arrays, members, begin, end,
                            choose(&sumU64, &maxU64, &minU64));
  case PMRT_I8:
    return reduce<int8_t>(results, numResults, arrays, members, begin, end,
                          choose(&sumI8, &maxI8, &minI8));
  case PMRT_I1:
  case PMRT_U8:
    return reduce<uint8_t>(results, numResults, arrays, members, begin, end,
                           choose(&sumU8, &maxU8, &minU8));
  case PMRT_I16:
    return reduce<int16_t>(results, numResults, arrays, members, begin, end,
                           choose(&sumI16, &maxI16, &minI16));
  case PMRT_U16:
    return reduce<uint16_t>(results, numResults, arrays, members, begin, end,
                            choose(&sumU16, &maxU16, &minU16));
  case PMRT_BF16:
    return reduce<Bf16>(
        results, numResults, arrays, members, begin, end,
        choose(&sumNarrow<Bf16>, &maxNarrow<Bf16>, &minNarrow<Bf16>));
  case PMRT_F16:
    return reduce<F16>(
        results, numResults, arrays, members, begin, end,
        choose(&sumNarrow<F16>, &maxNarrow<F16>, &minNarrow<F16>));
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
