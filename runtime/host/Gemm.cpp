//===- Gemm.cpp - Matrix products by oneDNN -------------------------------===//

#include "host/Gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/dnnl/dnnl.h>

// Of libgomp, which oneDNN uses; the setting is one of the calling thread.
extern "C" void omp_set_num_threads(int);

namespace pipemesh::runtime {

static std::atomic<bool> failed{false};

bool gemmFailed() {
  return failed.load(std::memory_order_relaxed) && failed.exchange(false);
}

void useOneGemmThread() { omp_set_num_threads(1); }

void sgemm(int64_t transA, int64_t transB, int64_t m, int64_t n, int64_t k,
           float alpha, const float *a, int64_t lda, const float *b,
           int64_t ldb, float beta, float *c, int64_t ldc) {
  if (m == 0 || n == 0)
    return;
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        c[i * ldc + j] = beta == 0 ? 0.0f : beta * c[i * ldc + j];
    return;
  }
  if (dnnl_sgemm(transA ? 'T' : 'N', transB ? 'T' : 'N', m, n, k, alpha, a, lda,
                 b, ldb, beta, c, ldc) != dnnl_success)
    failed.store(true, std::memory_order_relaxed);
}

/// What oneDNN adds to its panels to align them.
static constexpr uint64_t packingPages = 5 * 4096;

/// Products below this number of operations are not cut.
static constexpr double smallestCut = 64e6;
/// Each block packs the shorter operand again, which costs about 2 % of a block
/// of 512 rows; larger products are cut into blocks of that side or more.
static constexpr int64_t blockSide = 512, mostBlocks = 16, blockUnit = 16;

GemmPlan::GemmPlan(const pmrt_gemm &gemm)
    : k(gemm.k), lda(gemm.lda), ldb(gemm.ldb), ldc(gemm.ldc), alpha(gemm.alpha),
      beta(gemm.accumulate ? 1.0f : 0.0f), transA(gemm.trans_a),
      transB(gemm.trans_b) {
  int64_t m = gemm.m, n = gemm.n;
  std::array<int64_t, PMRT_MAX_BATCH_DIMS> batch;
  std::copy_n(gemm.batch, PMRT_MAX_BATCH_DIMS, batch.begin());
  // The innermost batch dimensions whose matrices lie below each other in A
  // and C, with one B for all, are rows of one product.
  for (int d = PMRT_MAX_BATCH_DIMS - 1; d >= 0; --d) {
    if (batch[d] == 1)
      continue;
    if (transA || gemm.stride_b[d] != 0 || gemm.stride_a[d] != m * lda ||
        gemm.stride_c[d] != m * ldc)
      break;
    m *= batch[d];
    batch[d] = 1;
  }
  int64_t products = 1;
  for (int64_t size : batch)
    products *= size;

  // Along the longer side, so that the least is packed twice.
  bool alongRows = m >= n;
  int64_t side = alongRows ? m : n;
  int64_t blocks = 1;
  if (products == 1 && 2.0 * m * n * k >= smallestCut)
    blocks = std::clamp<int64_t>(side / blockSide, 2, mostBlocks);
  int64_t step =
      ((side + blocks - 1) / blocks + blockUnit - 1) / blockUnit * blockUnit;
  if (blocks == 1)
    step = std::max<int64_t>(side, 1);

  for (int64_t i = 0; i < products; ++i) {
    int64_t rest = i, a = 0, b = 0, c = 0;
    for (int d = PMRT_MAX_BATCH_DIMS - 1; d >= 0; --d) {
      int64_t index = rest % batch[d];
      rest /= batch[d];
      a += index * gemm.stride_a[d];
      b += index * gemm.stride_b[d];
      c += index * gemm.stride_c[d];
    }
    for (int64_t first = 0; first < side; first += step) {
      int64_t size = std::min(step, side - first);
      if (alongRows)
        tasks.push_back(
            {a + first * (transA ? 1 : lda), b, c + first * ldc, size, n});
      else
        tasks.push_back(
            {a, b + first * (transB ? ldb : 1), c + first, m, size});
    }
  }
}

uint64_t GemmPlan::packedBytes() const {
  // Panels of up to 10,000 of our columns and 384 of our rows, as deep as one pass
  // over k: the sizes that oneDNN 2.6 is seen to allocate with AVX2.
  static const bool wide = __builtin_cpu_supports("avx512f");
  const int64_t unitColumns = wide ? 48 : 24, unitRows = wide ? 8 : 4;
  const int64_t depth = std::min<int64_t>(k, wide ? 384 : 256);
  auto round = [](int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  };
  uint64_t most = 0;
  for (const Task &task : tasks) {
    int64_t columns = round(std::min<int64_t>(task.n, 10000), unitColumns);
    int64_t rows = round(std::min<int64_t>(task.m, 384), unitRows);
    most = std::max<uint64_t>(most, 4 * depth * (columns + rows));
  }
  // Each panel begins on a page of its own.
  return most ? most + packingPages : 0;
}

double GemmPlan::flops() const {
  double total = 0;
  for (const Task &task : tasks)
    total += 2.0 * task.m * task.n * k;
  return total;
}

void GemmPlan::run(const float *a, const float *b, float *c,
                   ThreadPool &pool) const {
  pool.run(static_cast<int64_t>(tasks.size()), [&](int64_t i, int) {
    const Task &task = tasks[i];
    sgemm(transA, transB, task.m, task.n, k, alpha, a + task.a, lda, b + task.b,
          ldb, beta, c + task.c, ldc);
  });
}

} // namespace pipemesh::runtime
