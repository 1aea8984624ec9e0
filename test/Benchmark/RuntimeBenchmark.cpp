//===- RuntimeBenchmark.cpp - Products and collectives of the runtime -----===//
//
// What the runtime adds to the work itself, as ratios within one run:
// matrix products of SmolLM2's layers against one call of oneDNN, and the
// all-reduce of 16 MB against copying the bytes that it has to move.
//
//===----------------------------------------------------------------------===//

#include "host/Gemm.h"
#include "host/ThreadTransport.h"

#include <benchmark/benchmark.h>
#include <cstring>
#include <functional>

using namespace pipemesh::runtime;

namespace {

double seconds(const std::function<void()> &work) {
  uint64_t start = nanoseconds();
  work();
  return double(nanoseconds() - start) / 1e9;
}

/// Arguments: m, n, k, trans_a, trans_b, threads.
void gemm(benchmark::State &state) {
  pmrt_gemm description = {};
  int64_t m = description.m = state.range(0);
  int64_t n = description.n = state.range(1);
  int64_t k = description.k = state.range(2);
  description.trans_a = state.range(3) != 0;
  description.trans_b = state.range(4) != 0;
  int64_t lda = description.lda = description.trans_a ? m : k;
  int64_t ldb = description.ldb = description.trans_b ? k : n;
  description.ldc = n;
  description.alpha = 1;
  for (int64_t &size : description.batch)
    size = 1;
  std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n);
  ThreadPool pool(static_cast<int>(state.range(5)), 4000);
  useOneGemmThread();
  GemmPlan plan(description);
  auto raw = [&] {
    sgemm(description.trans_a, description.trans_b, m, n, k, 1, a.data(), lda,
          b.data(), ldb, 0, c.data(), n);
  };
  raw();
  plan.run(a.data(), b.data(), c.data(), pool);
  double planned = 0, alone = 0;
  for (auto _ : state) {
    alone += seconds(raw);
    double time =
        seconds([&] { plan.run(a.data(), b.data(), c.data(), pool); });
    planned += time;
    state.SetIterationTime(time);
  }
  state.counters["GFLOP/s"] =
      2e-9 * double(m) * double(n) * double(k) * state.iterations() / planned;
  state.counters["ratio to oneDNN"] = planned / alone;
}

/// Arguments: members, million elements.
void allReduce(benchmark::State &state) {
  int64_t members = state.range(0), count = state.range(1) << 20;
  std::vector<std::vector<float>> data(members);
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < members; ++i) {
    data[i].assign(count, 1.0f / float(members));
    ranks.push_back(i);
  }
  ThreadGroup group(ranks, spinRounds(members));
  uint64_t counts[] = {uint64_t(count)};
  pmrt_collective collective = {0, PMRT_F32, PMRT_SUM, 0, counts};
  pmrt_instruction instruction = {};
  instruction.opcode = PMRT_OP_ALL_REDUCE;
  instruction.num_operands = 1;
  instruction.descriptor = &collective;
  constexpr int repeats = 8;
  double reduced = 0, copied = 0;
  for (auto _ : state) {
    double time = seconds([&] {
      std::vector<std::thread> threads;
      for (int64_t i = 0; i < members; ++i)
        threads.emplace_back([&, i] {
          ThreadPool pool(1, 0);
          void *pointers[] = {data[i].data()};
          for (int repeat = 0; repeat < repeats; ++repeat)
            group.run(i, 1, instruction, pointers, pool, {});
        });
      for (std::thread &thread : threads)
        thread.join();
    });
    // The same number of bytes read and written once, by as many threads.
    copied += seconds([&] {
      std::vector<std::thread> threads;
      for (int64_t i = 0; i < members; ++i)
        threads.emplace_back([&, i] {
          std::vector<float> &to = data[(i + 1) % members];
          for (int repeat = 0; repeat < repeats; ++repeat)
            std::memmove(to.data(), data[i].data(), count * sizeof(float));
        });
      for (std::thread &thread : threads)
        thread.join();
    });
    reduced += time;
    state.SetIterationTime(time / repeats);
  }
  state.counters["ms"] = 1e3 * reduced / (repeats * double(state.iterations()));
  state.counters["ratio to memcpy"] = reduced / copied;
}

// SmolLM2-135M, batch 8 x 128: projections, their gradients, and the head.
BENCHMARK(gemm)
    ->ArgNames({"m", "n", "k", "tA", "tB", "threads"})
    ->Args({1024, 576, 576, 0, 1, 1})
    ->Args({1024, 1536, 576, 0, 1, 1})
    ->Args({1024, 576, 1536, 0, 0, 1})
    ->Args({1536, 576, 1024, 1, 0, 1})
    ->Args({1024, 49152, 576, 0, 1, 1})
    ->Args({1024, 1536, 576, 0, 1, 2})
    ->Args({1024, 49152, 576, 0, 1, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(allReduce)
    ->ArgNames({"members", "Mi"})
    ->Args({2, 4})
    ->Args({8, 4})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
