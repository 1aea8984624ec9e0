//===- ProductForm.h - What cuBLASLt is told of a product -----------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_PRODUCTFORM_H
#define PIPEMESH_RUNTIME_CUDA_PRODUCTFORM_H

#include "cuda/Api.h"
#include "pmrt/pmrt.h"

#include <vector>

namespace pipemesh::cuda {

/// A pmrt_gemm as cuBLASLt is called for it: how often, on which offsets, on
/// what shape. Batch dimensions that lie one behind the other are one; those
/// over which A and C are rows of one matrix, and B is the same, become rows;
/// one is the library's batch, the others are calls of their own.
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

/// All that cuBLASLt is told of a product. Its matrices are column-major: it
/// computes C' = B' A', whose first operand is the program's second one.
struct ProductForm {
  /// Throws where cuBLASLt has no products of that type.
  ProductForm(const pmrt_gemm &gemm, const ProductOptions &options);

  struct Attribute {
    int name; ///< cublasLtMatmulDescAttributes_t
    int64_t value;
    size_t bytes = sizeof(int32_t); ///< of which the attribute is
  };
  struct Layout {
    uint64_t rows, columns;
    int64_t leading, stride; ///< in elements; the stride is that of the batch
  };

  ProductShape shape;
  int type, resultType, compute, scale; ///< cudaDataType, cublasComputeType_t
  std::vector<Attribute> attributes;
  Layout first, second, result;
  double alpha, beta; ///< handed on as `scale` says
  /// Operands behind C, each the attribute that takes its address: the bias, what
  /// keeps GELU's argument.
  std::vector<int> pointers;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_PRODUCTFORM_H
