//===- Products.h - Matrix products by cuBLASLt ---------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
#define PIPEMESH_RUNTIME_CUDA_PRODUCTS_H

#include "cuda/Libraries.h"
#include "cuda/ProductForm.h"

#include <memory>

namespace pipemesh::cuda {

/// A product that is ready to be launched, with the algorithm that cuBLASLt's
/// heuristic put first; it stays the same for all launches.
class Product {
public:
  /// `workspace` bytes are there for each launch.
  Product(const Libraries &libraries, cublasLtHandle_t handle, const pmrt_gemm &gemm,
          uint64_t workspace, const ProductOptions &options);
  ~Product();
  Product(const Product &) = delete;
  Product &operator=(const Product &) = delete;

  /// Operands A, B, C and, with the epilogue, the bias.
  void launch(const CUdeviceptr *operands, CUdeviceptr workspace, CUstream stream) const;

private:
  const Libraries &libraries;
  cublasLtHandle_t handle;
  const ProductForm form;
  const int64_t elementBytes;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  uint64_t workspaceBytes = 0;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
