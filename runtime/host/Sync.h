//===- Sync.h - Waiting that spins shortly, then blocks -------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_SYNC_H
#define PIPEMESH_RUNTIME_HOST_SYNC_H

#include <atomic>
#include <cstdint>
#include <exception>

namespace pipemesh::runtime {

/// Thrown out of a wait when another rank has failed.
class Aborted : public std::exception {
public:
  const char *what() const noexcept override { return "another rank failed"; }
};

/// Blocks while *word == expected; may return early.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected);
void futexWakeAll(std::atomic<uint32_t> &word);

/// Waits until *word != expected: `spin` rounds of polling, then blocking.
/// `sleepers` counts those that block, so that a wake can be left out.
void waitWhileEqual(std::atomic<uint32_t> &word, uint32_t expected,
                    std::atomic<uint32_t> &sleepers, int spin);

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
  void wait();

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
