//===- ThreadPool.h - The threads of one rank -----------------------------===//

#ifndef PIPEMESH_RUNTIME_HOST_THREADPOOL_H
#define PIPEMESH_RUNTIME_HOST_THREADPOOL_H

#include "host/Crash.h"
#include "host/Sync.h"

#include <thread>
#include <vector>

namespace pipemesh::runtime {

/// A rank's own thread and its helpers. `run` is called by the rank's thread.
class ThreadPool {
public:
  /// `running` is what the rank runs, for messages of crashes.
  ThreadPool(int threads, int spin, const Running *running = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return static_cast<int>(workers.size()) + 1; }

  /// Calls function(task, thread) for every task in [0, count), and returns
  /// when all are done. Tasks go to whichever thread is free, so the result of
  /// one may not depend on its thread.
  template <typename Function> void run(int64_t count, Function function) {
    if (count <= 1 || workers.empty()) {
      for (int64_t task = 0; task < count; ++task)
        function(task, 0);
      return;
    }
    dispatch(count, &function, [](void *object, int64_t task, int thread) {
      (*static_cast<Function *>(object))(task, thread);
    });
  }

private:
  using Call = void (*)(void *, int64_t, int);

  void dispatch(int64_t count, void *object, Call call);
  void work(int thread);
  void loop(int thread);

  const int spin;
  const Running *running;
  std::vector<std::thread> workers;
  void *object = nullptr;
  Call call = nullptr;
  int64_t count = 0;
  bool stopping = false;
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> started{0}; ///< number of dispatches
  std::atomic<uint32_t> startSleepers{0};
  alignas(64) std::atomic<uint32_t> busy{0}; ///< helpers not yet done
  std::atomic<uint32_t> finished{0};         ///< number of finished dispatches
  std::atomic<uint32_t> finishSleepers{0};
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_HOST_THREADPOOL_H
