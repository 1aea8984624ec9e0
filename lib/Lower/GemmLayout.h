//===- GemmLayout.h - a dot_general as a batched matrix product -*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_GEMMLAYOUT_H
#define PIPEMESH_LIB_LOWER_GEMMLAYOUT_H

#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include <optional>

namespace pipemesh {

/// The operands of pmrt.gemm; strides in elements.
struct GemmLayout {
  int64_t m = 1, n = 1, k = 1;
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool transA = false, transB = false;
  llvm::SmallVector<int64_t> batch, strideA, strideB, strideC;
};

/// The number of batch dimensions that a GEMM instruction can loop over.
inline constexpr unsigned kMaxBatchDims = 4;

/// The layout of a product over dense row-major operands; nothing when the
/// dimensions of an operand do not collapse to batches of one matrix.
std::optional<GemmLayout> computeGemmLayout(stablehlo::DotGeneralOp dot);
std::optional<GemmLayout> computeGemmLayout(pmrt::ProductOp product);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_GEMMLAYOUT_H
