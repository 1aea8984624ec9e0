//===- Work.cpp - what a device does, and when ----------------------------===//

#include "cuda/standin/Work.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace pipemesh::cuda::standin {

namespace {

/// How long work is held back when nobody asks for it.
constexpr std::chrono::milliseconds kIdle{20};

/// Never destroyed, as workers may outlive the end of main.
struct World {
  std::mutex lock;
  std::condition_variable change;
  std::map<std::string, Caller *> callers;
  uint64_t tasksUnderWay = 0;
};

World &world() {
  static World &all = *new World;
  return all;
}

void flushAll() {
  std::lock_guard guard(world().lock);
  for (auto &[name, who] : world().callers)
    if (who->trace.isOn())
      who->trace.flush();
}

/// Keeps the files near what happened, for a process that is killed.
void startFlusher() {
  std::atexit(flushAll);
  std::thread([] {
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      flushAll();
    }
  }).detach();
}

/// The task of the lane with the highest priority, which changes now and then, so that
/// one stream may run far ahead of another.
TaskPtr choose(Caller &who) {
  size_t best = 0;
  uint64_t highest = 0;
  for (size_t i = 0; i < who.ready.size(); ++i) {
    auto [it, isNew] = who.priorities.try_emplace(who.ready[i]->lane, 0);
    if (isNew)
      it->second = who.random();
    if (i == 0 || it->second > highest) {
      best = i;
      highest = it->second;
    }
  }
  TaskPtr task = who.ready[best];
  who.ready.erase(who.ready.begin() + best);
  if (who.random() % 8 == 0)
    who.priorities[task->lane] = who.random();
  return task;
}

void work(Caller &who) {
  pthread_setname_np(pthread_self(), ("device " + std::to_string(who.rank)).c_str());
  std::unique_lock lock(world().lock);
  while (true) {
    if (who.ready.empty()) {
      who.isAsked = false;
      who.wake.wait(lock);
      continue;
    }
    auto due = who.lastReady + kIdle;
    if (!who.isAsked && std::chrono::steady_clock::now() < due) {
      who.wake.wait_until(lock, due);
      continue;
    }
    TaskPtr task = choose(who);
    if (task->error) {
      finish(task, task->error);
      continue;
    }
    task->state = Task::Running;
    if (task->exchange) {
      task->exchange->arrive(task);
      continue;
    }
    CUresult error = CUDA_SUCCESS;
    if (task->body) {
      lock.unlock();
      error = task->body();
      lock.lock();
    }
    finish(task, error);
  }
}

void makeReady(const TaskPtr &task, Tasks &ended) {
  if (task->error) {
    ended.push_back(task);
    return;
  }
  if (task->isStuck) {
    task->state = Task::Running;
    return;
  }
  if (!options().isComputing) {
    if (task->body)
      task->error = task->body();
    ended.push_back(task);
    return;
  }
  task->state = Task::Ready;
  Caller &who = *task->owner;
  who.ready.push_back(task);
  who.lastReady = std::chrono::steady_clock::now();
  if (!who.hasWorker) {
    who.hasWorker = true;
    std::thread(work, std::ref(who)).detach();
  }
  who.wake.notify_one();
}

void drain(Tasks &ended) {
  while (!ended.empty()) {
    TaskPtr task = ended.back();
    ended.pop_back();
    if (task->state == Task::Done)
      continue;
    task->state = Task::Done;
    --world().tasksUnderWay;
    for (const TaskPtr &next : task->dependents) {
      if (task->error && !next->error)
        next->error = task->error;
      if (--next->unmet == 0)
        makeReady(next, ended);
    }
    task->dependents.clear();
    task->after.clear();
    task->body = nullptr;
    task->exchange = nullptr;
  }
  world().change.notify_all();
}

} // namespace

Caller::Caller(const std::string &name, int rank)
    : rank(rank),
      trace(options().trace, name, options().isComputing ? "compute" : "record"),
      random(options().order * 1000003 + rank + 1) {}

Caller &caller() {
  static thread_local Caller *mine = nullptr;
  if (mine)
    return *mine;
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  int rank = -1, length = 0;
  if (std::sscanf(name, "rank %d%n", &rank, &length) != 1 || name[length])
    rank = -1;
  std::string file =
      rank >= 0 ? "rank-" + std::to_string(rank) : "thread-" + std::to_string(gettid());
  std::lock_guard guard(world().lock);
  if (world().callers.empty() && !options().trace.empty())
    startFlusher();
  Caller *&entry = world().callers[file];
  if (!entry)
    entry = new Caller(file, rank);
  return *(mine = entry);
}

std::mutex &theLock() { return world().lock; }
std::condition_variable &theChange() { return world().change; }
bool isIdle() { return world().tasksUnderWay == 0; }

void submit(const TaskPtr &task) {
  if (task->exchange)
    task->exchange->issue(task);
  ++world().tasksUnderWay;
  task->unmet = 0;
  for (const TaskPtr &before : task->after) {
    if (before->state == Task::Done) {
      if (before->error && !task->error)
        task->error = before->error;
      continue;
    }
    before->dependents.push_back(task);
    ++task->unmet;
  }
  if (task->unmet == 0) {
    Tasks ended;
    makeReady(task, ended);
    drain(ended);
  }
}

void finish(const TaskPtr &task, CUresult error) {
  if (task->state == Task::Done)
    return;
  task->error = error;
  Tasks ended{task};
  drain(ended);
}

CUresult statusOf(const Tasks &tasks) {
  CUresult error = CUDA_SUCCESS;
  for (const TaskPtr &task : tasks) {
    if (task->state != Task::Done)
      return CUDA_ERROR_NOT_READY;
    if (task->error && !error)
      error = task->error;
  }
  return error;
}

void prune(Tasks &tasks) {
  tasks.erase(std::remove_if(tasks.begin(), tasks.end(),
                             [](const TaskPtr &task) {
                               return task->state == Task::Done && !task->error;
                             }),
              tasks.end());
}

void ask(const Tasks &tasks) {
  auto wake = [](Caller &who) {
    who.isAsked = true;
    who.wake.notify_one();
  };
  wake(caller());
  for (const TaskPtr &task : tasks)
    if (task->state != Task::Done && task->owner != &caller())
      wake(*task->owner);
}

CUresult await(std::unique_lock<std::mutex> &lock, const Tasks &tasks) {
  while (true) {
    CUresult status = statusOf(tasks);
    if (status != CUDA_ERROR_NOT_READY)
      return status;
    ask(tasks);
    world().change.wait(lock);
  }
}

Tasks launchGraph(const Tasks &nodes, const Tasks &behind) {
  std::map<const Task *, TaskPtr> copies;
  std::set<const Task *> inner;
  for (const TaskPtr &node : nodes) {
    auto copy = std::make_shared<Task>();
    copy->owner = node->owner;
    copy->lane = node->lane;
    copy->isStuck = node->isStuck;
    copy->body = node->body;
    if (node->exchange)
      copy->exchange = node->exchange->copy();
    for (const TaskPtr &before : node->after) {
      copy->after.push_back(copies.at(before.get()));
      inner.insert(before.get());
    }
    if (node->after.empty())
      copy->after = behind;
    copies[node.get()] = copy;
  }
  // Only now, as a task that ends at once forgets what it is behind.
  for (const TaskPtr &node : nodes)
    submit(copies.at(node.get()));
  Tasks last;
  for (const TaskPtr &node : nodes)
    if (!inner.count(node.get()))
      last.push_back(copies.at(node.get()));
  if (last.empty())
    last = behind;
  return last;
}

void complain(Caller &who, uint64_t line, const std::string &text) {
  std::string at = who.rank >= 0 ? "rank " + std::to_string(who.rank) + ": " : "";
  std::fprintf(stderr, "stand-in: %s%s\n", at.c_str(), text.c_str());
  if (!who.trace.isOn())
    return;
  Object object(true);
  object.add("failed", line).add("text", text);
  who.trace.write(object.text());
  who.trace.flush();
}

} // namespace pipemesh::cuda::standin
