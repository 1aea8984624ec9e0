//===- Products.cpp - Matrix products by cuBLASLt -------------------------===//

#include "cuda/Products.h"

#include "core/Instruction.h"

namespace pipemesh::cuda {

Product::Product(const Libraries &libraries, cublasLtHandle_t handle,
                 const pmrt_gemm &gemm, uint64_t workspace,
                 const ProductOptions &options)
    : libraries(libraries), handle(handle), form(gemm, options),
      elementBytes(static_cast<int64_t>(runtime::dtypeSize(gemm.dtype))) {
  if (form.shape.calls.empty())
    return;
  libraries.checkBlas(libraries.cublasLtMatmulDescCreate(
                          &description, form.compute, form.scale),
                      "cublasLtMatmulDescCreate");
  for (const ProductForm::Attribute &attribute : form.attributes)
    libraries.checkBlas(libraries.cublasLtMatmulDescSetAttribute(
                            description, attribute.name, &attribute.value,
                            sizeof(attribute.value)),
                        "cublasLtMatmulDescSetAttribute");
  auto layout = [&](cublasLtMatrixLayout_t &made,
                    const ProductForm::Layout &own) {
    libraries.checkBlas(
        libraries.cublasLtMatrixLayoutCreate(&made, form.type, own.rows,
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
  layout(first, form.first);
  layout(second, form.second);
  layout(result, form.result);
  cublasLtMatmulPreference_t preference = nullptr;
  libraries.checkBlas(libraries.cublasLtMatmulPreferenceCreate(&preference),
                      "cublasLtMatmulPreferenceCreate");
  size_t most = workspace;
  cublasLtMatmulHeuristicResult_t found{};
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
  algorithm = found.algo;
  workspaceBytes = found.workspaceSize;
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
        operands[operand] + static_cast<CUdeviceptr>(offset * elementBytes));
  };
  float single[2] = {static_cast<float>(form.alpha),
                     static_cast<float>(form.beta)};
  bool isDouble = form.scale == CUDA_R_64F;
  const void *alpha =
      isDouble ? static_cast<const void *>(&form.alpha) : &single[0];
  const void *beta =
      isDouble ? static_cast<const void *>(&form.beta) : &single[1];
  if (form.hasBias) {
    void *bias = at(3, 0);
    libraries.checkBlas(
        libraries.cublasLtMatmulDescSetAttribute(
            description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)),
        "cublasLtMatmulDescSetAttribute");
  }
  for (const ProductShape::Call &call : form.shape.calls)
    libraries.checkBlas(
        libraries.cublasLtMatmul(handle, description, alpha, at(1, call.b), first,
                                 at(0, call.a), second, beta, at(2, call.c), result,
                                 at(2, call.c), result, &algorithm,
                                 reinterpret_cast<void *>(workspace), workspaceBytes,
                                 stream),
        "cublasLtMatmul");
}

} // namespace pipemesh::cuda
