//===- Courier.cpp --------------------------------------------------------===//

#include "host/Courier.h"

#include "host/Sync.h"

#include <pthread.h>

namespace pipemesh::runtime {

Courier::Courier(uint32_t events, const std::string &name)
    : underWay(events + 1), thread([this] { loop(); }) {
  pthread_setname_np(thread.native_handle(), name.c_str());
}

Courier::~Courier() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void Courier::start(uint32_t event, std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    underWay[event] = true;
    items.push_back({event, std::move(work)});
  }
  changed.notify_all();
}

uint64_t Courier::wait(uint32_t event) {
  uint64_t begin = nanoseconds();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !underWay[event] || thrown; });
  if (thrown)
    std::rethrow_exception(thrown);
  return nanoseconds() - begin;
}

void Courier::settle() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return items.empty(); });
  thrown = nullptr;
  failed.store(false);
}

void Courier::loop() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || !items.empty(); });
    if (items.empty())
      return;
    // What comes behind a failure would meet others at another place.
    if (!thrown) {
      auto work = std::move(items.front().work);
      lock.unlock();
      std::exception_ptr caught;
      try {
        work();
      } catch (...) {
        caught = std::current_exception();
      }
      lock.lock();
      thrown = caught;
      if (caught)
        failed.store(true);
    }
    underWay[items.front().event] = false;
    items.pop_front();
    changed.notify_all();
  }
}

} // namespace pipemesh::runtime
