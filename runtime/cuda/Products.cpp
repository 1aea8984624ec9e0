//===- Products.cpp - Matrix products by cuBLASLt -------------------------===//

#include "cuda/Products.h"

#include "host/Collective.h"

namespace pipemesh::cuda {

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
        all.push_back({call.a + i * dim.a, call.b + i * dim.b, call.c + i * dim.c});
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

static int32_t epilogueOf(const pmrt_gemm &gemm) {
  bool hasBias = gemm.epilogue & PMRT_EPILOGUE_BIAS;
  if (gemm.epilogue & PMRT_EPILOGUE_BEFORE)
    return hasBias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                   : CUBLASLT_EPILOGUE_GELU_AUX;
  if (gemm.epilogue & PMRT_EPILOGUE_GELU)
    return hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static int computeType(uint32_t dtype, const ProductOptions &options) {
  if (dtype == PMRT_F64)
    return CUBLAS_COMPUTE_64F;
  return dtype == PMRT_F32 && options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                           : CUBLAS_COMPUTE_32F;
}

Product::Product(const Libraries &libraries, cublasLtHandle_t handle,
                 const pmrt_gemm &gemm, CUdeviceptr arena, uint64_t workspace,
                 const ProductOptions &options, Algorithms &algorithms)
    : libraries(libraries), handle(handle), gemm(gemm), shape(gemm) {
  if (shape.calls.empty())
    return;
  int type = cudaType(gemm.dtype), resultType = cudaType(gemm.result_dtype);
  auto set = [&](int attribute, const auto &value) {
    libraries.checkBlas(libraries.cublasLtMatmulDescSetAttribute(
                            description, attribute, &value, sizeof(value)),
                        "cublasLtMatmulDescSetAttribute");
  };
  libraries.checkBlas(
      libraries.cublasLtMatmulDescCreate(&description, computeType(gemm.dtype, options),
                                         gemm.dtype == PMRT_F64 ? CUDA_R_64F
                                                                : CUDA_R_32F),
      "cublasLtMatmulDescCreate");
  // The library's matrices are column-major: it computes C' = B' A'.
  set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(gemm.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(gemm.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (gemm.epilogue) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(gemm));
    if (gemm.epilogue & PMRT_EPILOGUE_BEFORE)
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, gemm.ldc);
    // The heuristic looks at their alignment, which is that of the arena.
    setPointers(arena, arena);
  }
  auto layout = [&](cublasLtMatrixLayout_t &made, int type, int64_t rows,
                    int64_t columns, int64_t leading, int64_t stride) {
    // Of one row or column the distance does not matter, and may be anything.
    leading = std::max(leading, rows);
    libraries.checkBlas(libraries.cublasLtMatrixLayoutCreate(
                            &made, type, static_cast<uint64_t>(rows),
                            static_cast<uint64_t>(columns), leading),
                        "cublasLtMatrixLayoutCreate");
    if (shape.batch == 1)
      return;
    auto count = static_cast<int32_t>(shape.batch);
    libraries.checkBlas(
        libraries.cublasLtMatrixLayoutSetAttribute(
            made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
    libraries.checkBlas(libraries.cublasLtMatrixLayoutSetAttribute(
                            made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                            sizeof(stride)),
                        "cublasLtMatrixLayoutSetAttribute");
  };
  layout(first, type, gemm.trans_b ? shape.k : shape.n,
         gemm.trans_b ? shape.n : shape.k, gemm.ldb, shape.strideB);
  layout(second, type, gemm.trans_a ? shape.m : shape.k,
         gemm.trans_a ? shape.k : shape.m, gemm.lda, shape.strideA);
  layout(result, resultType, shape.n, shape.m, gemm.ldc, shape.strideC);
  choose(workspace, options, algorithms);
}

/// What a product has in common with those that take the same algorithm.
static std::string describe(const pmrt_gemm &gemm, const ProductShape &shape,
                            uint64_t workspace, const ProductOptions &options) {
  return runtime::cat(
      gemm.trans_a ? "t" : "n", gemm.trans_b ? "t" : "n", " ", shape.m, "x",
      shape.n, "x", shape.k, " ld ", gemm.lda, " ", gemm.ldb, " ", gemm.ldc,
      " batch ", shape.batch, " strides ", shape.strideA, " ", shape.strideB,
      " ", shape.strideC, " type ", runtime::dtypeName(gemm.dtype), " ",
      runtime::dtypeName(gemm.result_dtype), options.tf32 ? " tf32" : "",
      " epilogue ", gemm.epilogue, " workspace ", workspace);
}

void Product::choose(uint64_t workspace, const ProductOptions &options,
                     Algorithms &algorithms) {
  std::string key = describe(gemm, shape, workspace, options);
  cublasLtMatmulHeuristicResult_t found{};
  if (const Algorithms::Choice *known = algorithms.find(key)) {
    choice = *known;
    cublasStatus_t status = libraries.cublasLtMatmulAlgoCheck(
        handle, description, first, second, result, result, &choice.algorithm,
        &found);
    if (status != CUBLAS_STATUS_SUCCESS || found.workspaceSize > workspace)
      runtime::fail(
          "algorithms '", algorithms.getPath(), "': that of '", key,
          "' cannot be used (cuBLASLt's status ", status, ", ",
          found.workspaceSize,
          " bytes of workspace); remove the file, and they are chosen again");
    choice.workspaceBytes = found.workspaceSize;
    return;
  }
  cublasLtMatmulPreference_t preference = nullptr;
  libraries.checkBlas(libraries.cublasLtMatmulPreferenceCreate(&preference),
                      "cublasLtMatmulPreferenceCreate");
  size_t most = workspace;
  int count = 0;
  cublasStatus_t status = libraries.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most));
  if (status == CUBLAS_STATUS_SUCCESS)
    status = libraries.cublasLtMatmulAlgoGetHeuristic(
        handle, description, first, second, result, result, preference, 1, &found,
        &count);
  libraries.cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_SUCCESS && !count)
    status = CUBLAS_STATUS_NOT_SUPPORTED;
  libraries.checkBlas(status, "cuBLASLt has no algorithm for a product of ",
                      gemm.m, " x ", gemm.k, " by ", gemm.k, " x ", gemm.n,
                      " with ", workspace, " bytes of workspace");
  choice = {found.algo, found.workspaceSize};
  algorithms.add(key, choice);
}

void Product::setPointers(CUdeviceptr bias, CUdeviceptr before) const {
  auto set = [&](int attribute, CUdeviceptr address) {
    void *pointer = reinterpret_cast<void *>(address);
    libraries.checkBlas(libraries.cublasLtMatmulDescSetAttribute(
                            description, attribute, &pointer, sizeof(pointer)),
                        "cublasLtMatmulDescSetAttribute");
  };
  if (gemm.epilogue & PMRT_EPILOGUE_BIAS)
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (gemm.epilogue & PMRT_EPILOGUE_BEFORE)
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before);
}

Product::~Product() {
  for (cublasLtMatrixLayout_t layout : {first, second, result})
    if (layout)
      libraries.cublasLtMatrixLayoutDestroy(layout);
  if (description)
    libraries.cublasLtMatmulDescDestroy(description);
}

void Product::launch(const CUdeviceptr *operands, CUdeviceptr workspace,
                     CUstream stream) const {
  auto at = [&](int operand, int64_t offset) {
    auto size = static_cast<int64_t>(
        runtime::dtypeSize(operand < 2 ? gemm.dtype : gemm.result_dtype));
    return reinterpret_cast<void *>(operands[operand] +
                                    static_cast<CUdeviceptr>(offset * size));
  };
  float single[2] = {gemm.alpha, gemm.accumulate ? 1.0f : 0.0f};
  double twice[2] = {single[0], single[1]};
  bool isDouble = gemm.dtype == PMRT_F64;
  const void *alpha =
      isDouble ? static_cast<const void *>(&twice[0]) : &single[0];
  const void *beta =
      isDouble ? static_cast<const void *>(&twice[1]) : &single[1];
  bool hasBias = gemm.epilogue & PMRT_EPILOGUE_BIAS;
  if (gemm.epilogue && !shape.calls.empty())
    setPointers(hasBias ? operands[3] : 0, gemm.epilogue & PMRT_EPILOGUE_BEFORE
                                               ? operands[3 + hasBias]
                                               : 0);
  for (const ProductShape::Call &call : shape.calls)
    libraries.checkBlas(libraries.cublasLtMatmul(
                            handle, description, alpha, at(1, call.b), first,
                            at(0, call.a), second, beta, at(2, call.c), result,
                            at(2, call.c), result, &choice.algorithm,
                            reinterpret_cast<void *>(workspace),
                            choice.workspaceBytes, stream),
                        "cublasLtMatmul");
}

} // namespace pipemesh::cuda
