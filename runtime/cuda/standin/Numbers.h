//===- Numbers.h - halves and brain floats --------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_NUMBERS_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_NUMBERS_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace pipemesh::cuda::standin {

struct Brain {
  uint16_t bits = 0;
  Brain() = default;
  /// To the nearest, ties to even.
  explicit Brain(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value)
               ? 0x7fff
               : static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

using Half = _Float16;

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_NUMBERS_H
