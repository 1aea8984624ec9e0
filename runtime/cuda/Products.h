//===- Products.h - Matrix products by cuBLASLt ---------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
#define PIPEMESH_RUNTIME_CUDA_PRODUCTS_H

#include "cuda/Algorithms.h"
#include "pmrt/pmrt.h"

#include <memory>
#include <vector>

namespace pipemesh::cuda {

/// A pmrt_gemm as cuBLASLt is called for it: how often, on which offsets, on what
/// shape. Batch dimensions that lie one behind the other are one; those over which A
/// and C are rows of one matrix, and B is the same, become rows; one is the library's
/// batch, the others are calls of their own.
struct ProductShape {
  explicit ProductShape(const pmrt_gemm &gemm);

  int64_t m, n, k;
  int64_t batch = 1, strideA = 0, strideB = 0, strideC = 0; ///< in elements
  struct Call {
    int64_t a, b, c; ///< offsets in elements
  };
  std::vector<Call> calls; ///< none where there is nothing to compute
};

struct ProductOptions {
  bool tf32 = false; ///< float32 by TensorFloat-32: less exact
};

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
  void setPointers(CUdeviceptr bias, CUdeviceptr before) const;
  void choose(uint64_t workspace, const ProductOptions &options,
              Algorithms &algorithms);

  const Libraries &libraries;
  cublasLtHandle_t handle;
  const pmrt_gemm gemm;
  ProductShape shape;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  Algorithms::Choice choice;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PRODUCTS_H
