//===- Courier.h - Collectives that go on beside a rank's instructions ----===//

#ifndef PIPEMESH_RUNTIME_HOST_COURIER_H
#define PIPEMESH_RUNTIME_HOST_COURIER_H

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pipemesh::runtime {

/// Does what a rank starts, one after the other in the order of the starts, on a
/// thread of its own. A start never waits. The other functions are called by the
/// rank's thread only.
class Courier {
public:
  /// Work of the events 1 to `events`; the thread has this name.
  Courier(uint32_t events, const std::string &name);
  /// Nothing may be left to do.
  ~Courier();
  Courier(const Courier &) = delete;
  Courier &operator=(const Courier &) = delete;

  /// An event is waited for before it is started again.
  void start(uint32_t event, std::function<void()> work);

  /// Returns when the work of an event is done, and when its start was left out.
  /// Throws what it threw, or what work before it did. Returns the nanoseconds
  /// spent waiting.
  uint64_t wait(uint32_t event);

  /// Whether some work has thrown; `wait` says what.
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }

  /// Waits until nothing is left to do, and forgets what was thrown.
  void settle();

private:
  struct Item {
    uint32_t event;
    std::function<void()> work;
  };

  void loop();

  std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::deque<Item> items;     ///< oldest first; the one in progress too
  std::vector<bool> underWay; ///< by event
  std::exception_ptr thrown;
  bool stopping = false;
  std::atomic<bool> failed{false};
  std::thread thread;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_COURIER_H
