//===- Products.cpp - Matrix products by cuBLASLt -------------------------===//

#include "cuda/Products.h"

#include "host/Collective.h"

namespace pipemesh::cuda {

using runtime::dtypeSize;

Product::Product(const Libraries &libraries, cublasLtHandle_t handle,
                 const pmrt_gemm &gemm, CUdeviceptr arena, uint64_t workspace,
                 const ProductOptions &options, Algorithms &algorithms)
    : libraries(libraries), handle(handle), form(gemm, options),
      elementBytes{static_cast<int64_t>(dtypeSize(gemm.dtype)),
                   static_cast<int64_t>(dtypeSize(gemm.result_dtype))} {
  if (form.shape.calls.empty())
    return;
  libraries.checkBlas(libraries.cublasLtMatmulDescCreate(
                          &description, form.compute, form.scale),
                      "cublasLtMatmulDescCreate");
  for (const ProductForm::Attribute &attribute : form.attributes)
    libraries.checkBlas(libraries.cublasLtMatmulDescSetAttribute(
                            description, attribute.name, &attribute.value,
                            attribute.bytes),
                        "cublasLtMatmulDescSetAttribute");
  // The heuristic looks at their alignment, which is that of the arena.
  for (size_t i = 0; i < form.pointers.size(); ++i)
    setPointer(i, arena);
  auto layout = [&](cublasLtMatrixLayout_t &made, int type,
                    const ProductForm::Layout &own) {
    libraries.checkBlas(libraries.cublasLtMatrixLayoutCreate(&made, type, own.rows,
                                                             own.columns, own.leading),
                        "cublasLtMatrixLayoutCreate");
    if (form.shape.batch == 1)
      return;
    auto count = static_cast<int32_t>(form.shape.batch);
    libraries.checkBlas(
        libraries.cublasLtMatrixLayoutSetAttribute(
            made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
    libraries.checkBlas(libraries.cublasLtMatrixLayoutSetAttribute(
                            made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                            &own.stride, sizeof(own.stride)),
                        "cublasLtMatrixLayoutSetAttribute");
  };
  layout(first, form.type, form.first);
  layout(second, form.type, form.second);
  layout(result, form.resultType, form.result);
  choose(gemm, workspace, options, algorithms);
}

/// What a product has in common with those that take the same algorithm.
static std::string describe(const pmrt_gemm &gemm, const ProductShape &shape,
                            uint64_t workspace, const ProductOptions &options) {
  return runtime::cat(
      gemm.trans_a ? "t" : "n", gemm.trans_b ? "t" : "n", " ", shape.m, "x", shape.n,
      "x", shape.k, " ld ", gemm.lda, " ", gemm.ldb, " ", gemm.ldc, " batch ",
      shape.batch, " strides ", shape.strideA, " ", shape.strideB, " ", shape.strideC,
      " type ", runtime::dtypeName(gemm.dtype), " ",
      runtime::dtypeName(gemm.result_dtype), options.tf32 ? " tf32" : "", " epilogue ",
      gemm.epilogue, " workspace ", workspace);
}

void Product::choose(const pmrt_gemm &gemm, uint64_t workspace,
                     const ProductOptions &options, Algorithms &algorithms) {
  std::string key = describe(gemm, form.shape, workspace, options);
  cublasLtMatmulHeuristicResult_t found{};
  if (const Algorithms::Choice *known = algorithms.find(key)) {
    choice = *known;
    cublasStatus_t status = libraries.cublasLtMatmulAlgoCheck(
        handle, description, first, second, result, result, &choice.algorithm, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found.workspaceSize > workspace)
      runtime::fail("algorithms '", algorithms.getPath(), "': that of '", key,
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
  libraries.checkBlas(status, "cuBLASLt has no algorithm for a product of ", gemm.m,
                      " x ", gemm.k, " by ", gemm.k, " x ", gemm.n, " with ", workspace,
                      " bytes of workspace");
  choice = {found.algo, found.workspaceSize};
  algorithms.add(key, choice);
}

void Product::setPointer(size_t number, CUdeviceptr address) const {
  void *pointer = reinterpret_cast<void *>(address);
  libraries.checkBlas(
      libraries.cublasLtMatmulDescSetAttribute(description, form.pointers[number],
                                               &pointer, sizeof(pointer)),
      "cublasLtMatmulDescSetAttribute");
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
    return reinterpret_cast<void *>(
        operands[operand] +
        static_cast<CUdeviceptr>(offset * elementBytes[operand == 2]));
  };
  float single[2] = {static_cast<float>(form.alpha),
                     static_cast<float>(form.beta)};
  bool isDouble = form.scale == CUDA_R_64F;
  const void *alpha = isDouble ? static_cast<const void *>(&form.alpha) : &single[0];
  const void *beta = isDouble ? static_cast<const void *>(&form.beta) : &single[1];
  if (!form.shape.calls.empty())
    for (size_t i = 0; i < form.pointers.size(); ++i)
      setPointer(i, operands[3 + i]);
  for (const ProductShape::Call &call : form.shape.calls)
    libraries.checkBlas(
        libraries.cublasLtMatmul(handle, description, alpha, at(1, call.b), first,
                                 at(0, call.a), second, beta, at(2, call.c), result,
                                 at(2, call.c), result, &choice.algorithm,
                                 reinterpret_cast<void *>(workspace),
                                 choice.workspaceBytes, stream),
        "cublasLtMatmul");
}

} // namespace pipemesh::cuda
