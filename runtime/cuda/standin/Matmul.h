//===- Matmul.h - products of matrices as cuBLASLt has them ---------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_MATMUL_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_MATMUL_H

#include "cuda/Api.h"

namespace pipemesh::cuda {

struct cublasLtMatmulDescOpaque {
  int compute = CUBLAS_COMPUTE_32F, scaleType = CUDA_R_32F;
  int transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  void *before = nullptr; ///< takes what GELU is taken of, of the type of D
  int64_t beforeLeading = 0;
};

/// Column-major: element (i, j) is at i + j * leading.
struct cublasLtMatrixLayoutOpaque {
  int type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int batches = 1;
  /// In elements.
  int64_t stride = 0;
};

namespace standin {

/// Bytes of an element; 0 for a type that is not known.
int bytesOf(int type);

/// D = epilogue(alpha * op(A) * op(B) + beta * C), for each of the batch.
struct Product {
  cublasLtMatmulDescOpaque how;
  cublasLtMatrixLayoutOpaque aLayout, bLayout, cLayout, dLayout;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr;
  double alpha = 1, beta = 0;

  bool hasBias() const {
    return how.epilogue == CUBLASLT_EPILOGUE_BIAS ||
           how.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
           how.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  }
  bool keepsBefore() const {
    return how.epilogue == CUBLASLT_EPILOGUE_GELU_AUX ||
           how.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  }
  bool hasGelu() const {
    return how.epilogue == CUBLASLT_EPILOGUE_GELU ||
           how.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS || keepsBefore();
  }
  uint64_t m() const { return dLayout.rows; }
  uint64_t n() const { return dLayout.columns; }
  uint64_t k() const {
    return how.transposeA == CUBLAS_OP_N ? aLayout.columns : aLayout.rows;
  }
};

/// CUBLAS_STATUS_INVALID_VALUE where shapes do not fit, CUBLAS_STATUS_NOT_SUPPORTED
/// where types do not.
cublasStatus_t check(const Product &product);
/// Bytes from the first element of a matrix to the last, over the batch.
uint64_t spanOf(const cublasLtMatrixLayoutOpaque &layout);
void multiply(const Product &product);

} // namespace standin
} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_MATMUL_H
