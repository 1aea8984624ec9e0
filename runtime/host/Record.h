//===- Record.h - What a rank is doing right now --------------------------===//
//
// Kept up to date by every rank while it runs, and read by whoever has to say
// why a job stands still.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_RECORD_H
#define PIPEMESH_RUNTIME_HOST_RECORD_H

#include <atomic>
#include <cstdint>

namespace pipemesh::runtime {

struct RecordedActivity;

/// Numbers only, so that it can lie in a file that other processes map.
struct alignas(64) Record {
  enum State : uint32_t { Idle, Running, Waiting };

  /// No instruction: the action itself, a transfer.
  static constexpr uint32_t none = UINT32_MAX;
  /// The action's place while a rank is in the vote of a step.
  static constexpr uint32_t vote = UINT32_MAX - 1;

  std::atomic<int64_t> step{-1};
  std::atomic<uint32_t> action{none}, instruction{none};
  std::atomic<uint32_t> state{Idle};
  std::atomic<uint64_t> since{0}; ///< nanoseconds()

  void set(uint32_t newAction, uint32_t newInstruction, State newState,
           uint64_t now) {
    action.store(newAction, std::memory_order_relaxed);
    instruction.store(newInstruction, std::memory_order_relaxed);
    state.store(newState, std::memory_order_relaxed);
    since.store(now, std::memory_order_relaxed);
  }

  RecordedActivity read() const;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// What a record said at one time.
struct RecordedActivity {
  int64_t step = -1;
  uint32_t action = Record::none, instruction = Record::none;
  uint32_t state = Record::Idle;
  uint64_t since = 0;

  bool isVote() const { return action == Record::vote; }
};

inline RecordedActivity Record::read() const {
  return {step.load(), action.load(), instruction.load(), state.load(),
          since.load()};
}

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_RECORD_H
