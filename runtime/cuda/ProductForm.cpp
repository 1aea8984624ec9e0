//===- ProductForm.cpp - What cuBLASLt is told of a product ---------------===//

#include "cuda/ProductForm.h"

#include "core/Error.h"

#include <algorithm>

namespace pipemesh::cuda {

using runtime::fail;

ProductShape::ProductShape(const pmrt_gemm &gemm)
    : m(gemm.m), n(gemm.n), k(gemm.k) {
  struct Dim {
    int64_t size, a, b, c;
  };
  std::vector<Dim> dims; // outermost first
  bool isEmpty = m == 0 || n == 0;
  for (int d = 0; d < PMRT_MAX_BATCH_DIMS; ++d) {
    isEmpty |= gemm.batch[d] == 0;
    if (gemm.batch[d] != 1)
      dims.push_back({gemm.batch[d], gemm.stride_a[d], gemm.stride_b[d],
                      gemm.stride_c[d]});
  }
  if (isEmpty)
    return;
  for (size_t d = dims.size(); d-- > 1;) {
    Dim &outer = dims[d - 1], &inner = dims[d];
    if (outer.a == inner.size * inner.a && outer.b == inner.size * inner.b &&
        outer.c == inner.size * inner.c) {
      outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  // The innermost one may be more rows of A and C.
  if (!dims.empty() && !gemm.trans_a && dims.back().b == 0 &&
      dims.back().a == m * gemm.lda && dims.back().c == m * gemm.ldc) {
    m *= dims.back().size;
    dims.pop_back();
  }
  if (!dims.empty()) {
    batch = dims.back().size;
    strideA = dims.back().a;
    strideB = dims.back().b;
    strideC = dims.back().c;
    dims.pop_back();
  }
  calls.push_back({0, 0, 0});
  for (const Dim &dim : dims) {
    std::vector<Call> all;
    for (const Call &call : calls)
      for (int64_t i = 0; i < dim.size; ++i)
        all.push_back(
            {call.a + i * dim.a, call.b + i * dim.b, call.c + i * dim.c});
    calls = std::move(all);
  }
}

static int cudaType(uint32_t dtype) {
  switch (dtype) {
  case PMRT_F32:
    return CUDA_R_32F;
  case PMRT_F64:
    return CUDA_R_64F;
  case PMRT_F16:
    return CUDA_R_16F;
  case PMRT_BF16:
    return CUDA_R_16BF;
  default:
    fail("matrix products of type ", dtype, " are not among those of cuBLASLt");
  }
}

static int computeType(uint32_t dtype, const ProductOptions &options) {
  if (dtype == PMRT_F64)
    return CUBLAS_COMPUTE_64F;
  return dtype == PMRT_F32 && options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                           : CUBLAS_COMPUTE_32F;
}

static int epilogueOf(const pmrt_gemm &gemm) {
  bool hasBias = gemm.epilogue & PMRT_EPILOGUE_BIAS;
  if (gemm.epilogue & PMRT_EPILOGUE_BEFORE)
    return hasBias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  if (gemm.epilogue & PMRT_EPILOGUE_GELU)
    return hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

ProductForm::ProductForm(const pmrt_gemm &gemm, const ProductOptions &options)
    : shape(gemm), type(shape.calls.empty() ? CUDA_R_32F : cudaType(gemm.dtype)),
      resultType(shape.calls.empty() ? CUDA_R_32F : cudaType(gemm.result_dtype)),
      compute(computeType(gemm.dtype, options)),
      scale(gemm.dtype == PMRT_F64 ? CUDA_R_64F : CUDA_R_32F), alpha(gemm.alpha),
      beta(gemm.accumulate ? 1 : 0) {
  attributes.push_back(
      {CUBLASLT_MATMUL_DESC_TRANSA, gemm.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N});
  attributes.push_back(
      {CUBLASLT_MATMUL_DESC_TRANSB, gemm.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N});
  if (gemm.epilogue)
    attributes.push_back({CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(gemm)});
  if (gemm.epilogue & PMRT_EPILOGUE_BIAS)
    pointers.push_back(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  if (gemm.epilogue & PMRT_EPILOGUE_BEFORE) {
    pointers.push_back(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
    attributes.push_back(
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, gemm.ldc, sizeof(int64_t)});
  }
  auto layout = [](int64_t rows, int64_t columns, int64_t leading, int64_t stride) {
    // Of one row or column the distance does not matter, and may be anything.
    return Layout{static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                  std::max(leading, rows), stride};
  };
  first = layout(gemm.trans_b ? shape.k : shape.n,
                 gemm.trans_b ? shape.n : shape.k, gemm.ldb, shape.strideB);
  second = layout(gemm.trans_a ? shape.m : shape.k,
                  gemm.trans_a ? shape.k : shape.m, gemm.lda, shape.strideA);
  result = layout(shape.n, shape.m, gemm.ldc, shape.strideC);
}

} // namespace pipemesh::cuda
