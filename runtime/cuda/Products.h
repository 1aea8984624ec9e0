//===- Products.h - Matrix products by cuBLASLt ---------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
#define PIPEMESH_RUNTIME_CUDA_PRODUCTS_H

#include "cuda/Algorithms.h"
#include "cuda/ProductForm.h"

#include <memory>

namespace pipemesh::cuda {

/// A product that is ready to be launched, with the algorithm that is known for
/// it, or else that cuBLASLt's heuristic puts first; it stays the same for all
/// launches.
class Product {
public:
  /// All operands will lie in `arena`; `workspace` bytes are there for each
  /// launch.
  Product(const Libraries &libraries, cublasLtHandle_t handle,
          const pmrt_gemm &gemm, CUdeviceptr arena, uint64_t workspace,
          const ProductOptions &options, Algorithms &algorithms);
  ~Product();
  Product(const Product &) = delete;
  Product &operator=(const Product &) = delete;

  /// Operands A, B, C and those of the epilogue: the bias, what keeps GELU's
  /// argument.
  void launch(const CUdeviceptr *operands, CUdeviceptr workspace,
              CUstream stream) const;

private:
  /// The operands behind C are attributes.
  void setPointer(size_t number, CUdeviceptr address) const;
  void choose(const pmrt_gemm &gemm, uint64_t workspace, const ProductOptions &options,
              Algorithms &algorithms);

  const Libraries &libraries;
  cublasLtHandle_t handle;
  const ProductForm form;
  const int64_t elementBytes[2]; ///< of A and B, and of C
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  Algorithms::Choice choice;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
