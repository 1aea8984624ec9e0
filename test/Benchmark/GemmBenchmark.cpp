// Times matrix products in oneDNN and nothing else.
//
// Reads lines "COUNT TRANS_A TRANS_B M N K" from standard input: COUNT products
// of float32 matrices, C[M, N] = op(A) op(B), each on operands of its own, as in
// a training step. The argument is the number of repetitions; prints the
// milliseconds of each. OMP_NUM_THREADS sets the threads.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <oneapi/dnnl/dnnl.h>
#include <vector>

namespace {
struct Product {
  long count;
  char transA, transB;
  long m, n, k;
  std::vector<float> a, b, c;
};
} // namespace

int main(int argc, char **argv) {
  long repetitions = argc > 1 ? std::atol(argv[1]) : 3;
  std::vector<Product> products;
  long count, transA, transB, m, n, k;
  while (std::cin >> count >> transA >> transB >> m >> n >> k) {
    Product product{count, transA ? 'T' : 'N', transB ? 'T' : 'N', m, n, k,
                    std::vector<float>(size_t(count) * m * k, 0.5f),
                    std::vector<float>(size_t(count) * k * n, 0.25f),
                    std::vector<float>(size_t(count) * m * n)};
    products.push_back(std::move(product));
  }
  if (products.empty()) {
    std::fprintf(stderr, "gemm-benchmark: no products on standard input\n");
    return 2;
  }
  for (long repetition = 0; repetition <= repetitions; ++repetition) {
    auto start = std::chrono::steady_clock::now();
    for (Product &p : products)
      for (long i = 0; i < p.count; ++i)
        if (dnnl_sgemm(p.transA, p.transB, p.m, p.n, p.k, 1.0f,
                       p.a.data() + i * p.m * p.k, p.transA == 'T' ? p.m : p.k,
                       p.b.data() + i * p.k * p.n, p.transB == 'T' ? p.k : p.n,
                       0.0f, p.c.data() + i * p.m * p.n,
                       p.n) != dnnl_success) {
          std::fprintf(stderr, "gemm-benchmark: oneDNN refused a product\n");
          return 1;
        }
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    if (repetition > 0) // the first one warms up
      std::printf("%.3f\n", time.count());
  }
  return 0;
}
