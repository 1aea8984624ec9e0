//===- Sync.h - Waiting that spins shortly, then blocks -------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_SYNC_H
#define PIPEMESH_RUNTIME_HOST_SYNC_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace pipemesh::runtime {

/// Thrown out of a wait when another rank has failed.
class Aborted : public std::exception {
public:
  const char *what() const noexcept override { return "another rank failed"; }
};

/// Nanoseconds of a clock that never goes back.
uint64_t nanoseconds();

/// How long a wait may last.
struct Patience {
  uint64_t limit = 0; ///< nanoseconds; 0: any time
  /// Called when a wait has lasted longer, with the ranks that have not come.
  std::function<void(const std::vector<int64_t> &absent)> late;
};

/// Blocks while *word == expected, for a limited time where `nanoseconds` is
/// not 0; may return early.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected,
               uint64_t nanoseconds = 0);
void futexWakeAll(std::atomic<uint32_t> &word);

/// Waits until *word != expected: `spin` rounds of polling, then blocking.
/// `sleepers` counts those that block, so that a wake can be left out. With a
/// limit, `late` is called whenever that time has passed.
void waitWhileEqual(std::atomic<uint32_t> &word, uint32_t expected,
                    std::atomic<uint32_t> &sleepers, int spin,
                    uint64_t limit = 0,
                    const std::function<void()> &late = nullptr);

/// Adds 1 to *word and wakes those that block on it.
void advance(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers);

/// Rounds of polling before a wait blocks, when `threads` threads run on this
/// machine: none where they outnumber the cores, since whoever polls then
/// keeps the awaited thread from running.
int spinRounds(int64_t threads);

/// Lets a fixed number of threads wait for each other, again and again.
class Barrier {
public:
  Barrier(uint32_t members, int spin) : members(members), spin(spin) {}

  /// Throws Aborted when `abort` was called.
  void wait(uint64_t limit = 0, const std::function<void()> &late = nullptr);

  /// Ends all waits, also later ones, until `reset`.
  void abort();

  /// Makes it usable again; nobody may be waiting.
  void reset();

private:
  const uint32_t members;
  const int spin;
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> aborted{false};
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_SYNC_H
