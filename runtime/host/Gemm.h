//===- Gemm.h - Matrix products by oneDNN ---------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_GEMM_H
#define PIPEMESH_RUNTIME_HOST_GEMM_H

#include "host/ThreadPool.h"
#include "pmrt/pmrt.h"

#include <vector>

namespace pipemesh::runtime {

/// Makes oneDNN single-threaded when it is called from this thread.
void useOneGemmThread();

/// pmrt_kernel_context.sgemm: C = alpha op(A) op(B) + beta C, row-major, on the
/// calling thread.
void sgemm(int64_t transA, int64_t transB, int64_t m, int64_t n, int64_t k,
           float alpha, const float *a, int64_t lda, const float *b,
           int64_t ldb, float beta, float *c, int64_t ldc);

/// A pmrt_gemm prepared for running: batch dimensions that are contiguous rows
/// of one larger product are folded into it, and a large product is cut into
/// blocks. The blocks depend on the shape alone, so any number of threads
/// computes the same bits.
class GemmPlan {
public:
  explicit GemmPlan(const pmrt_gemm &gemm);

  void run(const float *a, const float *b, float *c, ThreadPool &pool) const;
  double flops() const;
  /// The most bytes into which oneDNN packs the operands of a block.
  uint64_t packedBytes() const;

private:
  struct Task {
    int64_t a, b, c; ///< offsets in elements
    int64_t m, n;
  };

  int64_t k, lda, ldb, ldc;
  float alpha, beta;
  bool transA, transB;
  std::vector<Task> tasks;
};

/// True once after a call of oneDNN has failed, which only wrong arguments
/// cause.
bool gemmFailed();

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_GEMM_H
