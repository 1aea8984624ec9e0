//===- GemmTest.cpp - Matrix products -------------------------------------===//

#include "Fixture.h"

#include "host/Gemm.h"

#include <cmath>
#include <cstring>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

struct Buffers {
  std::vector<float> a, b, c;
};

pmrt_gemm product(int64_t m, int64_t n, int64_t k) {
  pmrt_gemm gemm = {};
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lda = k;
  gemm.ldb = gemm.ldc = n;
  gemm.alpha = 1;
  for (int64_t &size : gemm.batch)
    size = 1;
  return gemm;
}

/// C in double precision, by the words of pmrt.h.
std::vector<double> expected(const pmrt_gemm &g, const Buffers &x) {
  std::vector<double> c(x.c.begin(), x.c.end());
  for (int64_t b0 = 0; b0 < g.batch[0]; ++b0)
    for (int64_t b1 = 0; b1 < g.batch[1]; ++b1)
      for (int64_t b2 = 0; b2 < g.batch[2]; ++b2)
        for (int64_t b3 = 0; b3 < g.batch[3]; ++b3) {
          auto offset = [&](const int64_t *stride) {
            return b0 * stride[0] + b1 * stride[1] + b2 * stride[2] +
                   b3 * stride[3];
          };
          const float *a = x.a.data() + offset(g.stride_a);
          const float *b = x.b.data() + offset(g.stride_b);
          double *out = c.data() + offset(g.stride_c);
          for (int64_t i = 0; i < g.m; ++i)
            for (int64_t j = 0; j < g.n; ++j) {
              double sum = 0;
              for (int64_t l = 0; l < g.k; ++l)
                sum += double(g.trans_a ? a[l * g.lda + i] : a[i * g.lda + l]) *
                       (g.trans_b ? b[j * g.ldb + l] : b[l * g.ldb + j]);
              out[i * g.ldc + j] =
                  g.alpha * sum + (g.accumulate ? out[i * g.ldc + j] : 0);
            }
        }
  return c;
}

void check(const pmrt_gemm &gemm, int64_t sizeA, int64_t sizeB, int64_t sizeC,
           const char *what) {
  Buffers x = {noise(sizeA, 1), noise(sizeB, 2), noise(sizeC, 3)};
  std::vector<double> right = expected(gemm, x);
  std::vector<float> first;
  for (int threads : {1, 2, 3}) {
    std::vector<float> c = x.c;
    ThreadPool pool(threads, 0);
    useOneGemmThread();
    GemmPlan(gemm).run(x.a.data(), x.b.data(), c.data(), pool);
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], right[i], 1e-5 * std::sqrt(double(gemm.k)) + 1e-6)
          << what << ", element " << i;
    if (first.empty())
      first = c;
    EXPECT_EQ(std::memcmp(first.data(), c.data(), c.size() * 4), 0)
        << what << " with " << threads << " threads";
  }
}

TEST(Gemm, EveryTranspositionAndAccumulation) {
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (bool accumulate : {false, true}) {
        pmrt_gemm gemm = product(37, 29, 23);
        gemm.trans_a = transA;
        gemm.trans_b = transB;
        gemm.lda = transA ? 40 : 25;
        gemm.ldb = transB ? 24 : 31;
        gemm.ldc = 33;
        gemm.accumulate = accumulate;
        gemm.alpha = 0.5;
        check(gemm, 40 * 37, 31 * 29, 33 * 37,
              cat("A", transA, " B", transB, " +", accumulate).c_str());
      }
}

TEST(Gemm, LargeProductsAreCutAlongEitherSide) {
  check(product(1100, 260, 150), 1100 * 150, 150 * 260, 1100 * 260, "rows");
  pmrt_gemm wide = product(260, 1300, 128);
  wide.trans_a = wide.trans_b = 1;
  wide.lda = 260;
  wide.ldb = 128;
  check(wide, 260 * 128, 1300 * 128, 260 * 1300, "columns");
}

TEST(Gemm, BatchDimensionsWithStrides) {
  // Attention scores of [B, S, H, D]: batches over B and H, one of two heads
  // of the second operand for each pair of heads of the first.
  int64_t b = 2, s = 5, h = 4, d = 6;
  pmrt_gemm gemm = product(s, s, d);
  gemm.trans_b = 1;
  gemm.lda = h * d;
  gemm.ldb = 2 * d;
  gemm.batch[1] = b;
  gemm.batch[2] = 2;
  gemm.batch[3] = 2;
  int64_t strideA[] = {0, s * h * d, 2 * d, d};
  int64_t strideB[] = {0, s * 2 * d, d, 0};
  int64_t strideC[] = {0, h * s * s, 2 * s * s, s * s};
  std::copy_n(strideA, 4, gemm.stride_a);
  std::copy_n(strideB, 4, gemm.stride_b);
  std::copy_n(strideC, 4, gemm.stride_c);
  check(gemm, b * s * h * d, b * s * 2 * d, b * h * s * s, "attention");

  // Rows of a [B, S, D] activation by one weight become one product.
  pmrt_gemm rows = product(s, 7, d);
  rows.batch[3] = b;
  rows.stride_a[3] = s * d;
  rows.stride_c[3] = s * 7;
  check(rows, b * s * d, d * 7, b * s * 7, "rows of a batch");
}

TEST(Gemm, EmptyProducts) {
  check(product(3, 4, 0), 1, 1, 12, "no inner dimension");
  pmrt_gemm gemm = product(3, 4, 0);
  gemm.accumulate = 1;
  check(gemm, 1, 1, 12, "accumulated");
}

} // namespace
