//===- Sync.cpp - Waiting that spins shortly, then blocks -----------------===//

#include "host/Sync.h"

#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace pipemesh::runtime {

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + now.tv_nsec;
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected,
               uint64_t nanoseconds) {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(nanoseconds / 1000000000u);
  timeout.tv_nsec = static_cast<long>(nanoseconds % 1000000000u);
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          expected, nanoseconds ? &timeout : nullptr, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          INT32_MAX, nullptr, nullptr, 0);
}

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void waitWhileEqual(std::atomic<uint32_t> &word, uint32_t expected,
                    std::atomic<uint32_t> &sleepers, int spin, uint64_t limit,
                    const std::function<void()> &late) {
  for (int i = 0; i < spin; ++i) {
    if (word.load(std::memory_order_acquire) != expected)
      return;
    pause();
  }
  // Sequentially consistent: either `advance` sees the sleeper, or the sleeper
  // sees the new value.
  sleepers.fetch_add(1);
  uint64_t start = limit ? nanoseconds() : 0;
  while (word.load() == expected) {
    uint64_t waited = limit ? nanoseconds() - start : 0;
    if (limit && waited >= limit) {
      late();
      start += waited;
      waited = 0;
    }
    futexWait(word, expected, limit ? limit - waited : 0);
  }
  sleepers.fetch_sub(1);
}

void advance(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers) {
  word.fetch_add(1);
  if (sleepers.load())
    futexWakeAll(word);
}

int spinRounds(int64_t threads) {
  cpu_set_t allowed;
  int64_t cores = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                      ? CPU_COUNT(&allowed)
                      : std::thread::hardware_concurrency();
  return threads > cores ? 0 : 4000;
}

void Barrier::wait(uint64_t limit, const std::function<void()> &late) {
  // In this order: whoever sees no abort has seen the generation before it.
  uint32_t current = generation.load();
  if (aborted.load())
    throw Aborted();
  if (arrived.fetch_add(1) + 1 == members) {
    arrived.store(0);
    advance(generation, sleepers);
  } else {
    waitWhileEqual(generation, current, sleepers, spin, limit, late);
  }
  if (aborted.load())
    throw Aborted();
}

void Barrier::abort() {
  aborted.store(true);
  advance(generation, sleepers);
}

void Barrier::reset() {
  arrived.store(0);
  aborted.store(false);
}

} // namespace pipemesh::runtime
