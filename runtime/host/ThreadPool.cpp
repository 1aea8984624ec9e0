//===- ThreadPool.cpp - The threads of one rank ---------------------------===//

#include "host/ThreadPool.h"

#include "host/Gemm.h"

namespace pipemesh::runtime {

ThreadPool::ThreadPool(int threads, int spin, const Running *running)
    : spin(spin), running(running) {
  for (int thread = 1; thread < threads; ++thread)
    workers.emplace_back([this, thread] { loop(thread); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  advance(started, startSleepers);
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::work(int thread) {
  while (true) {
    int64_t task = next.fetch_add(1, std::memory_order_relaxed);
    if (task >= count)
      return;
    call(object, task, thread);
  }
}

void ThreadPool::loop(int thread) {
  useOneGemmThread();
  setRunning(running);
  uint32_t seen = 0;
  while (true) {
    waitWhileEqual(started, seen, startSleepers, spin);
    seen = started.load();
    if (stopping)
      return;
    work(thread);
    if (busy.fetch_sub(1) == 1)
      advance(finished, finishSleepers);
  }
}

void ThreadPool::dispatch(int64_t tasks, void *function, Call invoke) {
  object = function;
  call = invoke;
  count = tasks;
  next.store(0, std::memory_order_relaxed);
  busy.store(static_cast<uint32_t>(workers.size()));
  uint32_t done = finished.load();
  advance(started, startSleepers);
  work(0);
  waitWhileEqual(finished, done, finishSleepers, spin);
}

} // namespace pipemesh::runtime
