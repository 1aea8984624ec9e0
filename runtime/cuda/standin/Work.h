//===- Work.h - what a device does, and when ------------------------------===//
//
// A task is a unit of work that waits for others: what its stream holds before it, and
// the events that the stream waits for. A stream knows only the last tasks of it. In
// compute mode a worker for each calling thread runs what waits for nothing any more,
// as late as it may, in an order that a missing event does not survive. In record mode
// tasks end at once.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_WORK_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_WORK_H

#include "cuda/Api.h"
#include "cuda/standin/Options.h"
#include "cuda/standin/Trace.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>

namespace pipemesh::cuda::standin {

inline constexpr CUresult kNotInitialized = 3, kInvalidContext = 201,
                          kInvalidHandle = 400, kCaptureMerge = 902,
                          kCaptureUnmatched = 903, kCaptureUnjoined = 904,
                          kCaptureIsolation = 905, kCaptureImplicit = 906,
                          kCapturedEvent = 907, kCaptureWrongThread = 908;

struct Caller;
struct Capture;
struct Task;
struct Exchange;
using TaskPtr = std::shared_ptr<Task>;
using Tasks = std::vector<TaskPtr>;

struct Task {
  /// Template: part of a graph, never run itself.
  enum State { Template, Waiting, Ready, Running, Done } state = Waiting;
  Caller *owner = nullptr;
  /// The stream's number.
  unsigned lane = 0;
  Tasks after, dependents;
  unsigned unmet = 0;
  CUresult error = CUDA_SUCCESS;
  bool isStuck = false;
  /// Runs without the lock. A task that meets others has an exchange instead.
  std::function<CUresult()> body;
  std::shared_ptr<Exchange> exchange;
};

/// What tasks of several ranks do together.
struct Exchange {
  virtual ~Exchange() = default;
  /// The task waits for nothing of its rank any more. Called with the lock; the task
  /// ends when it is finished by this call, or later by another member's.
  virtual void arrive(const TaskPtr &task) = 0;
  /// For each launch of a graph another.
  virtual std::shared_ptr<Exchange> copy() = 0;
  /// An exchange takes its place in the order of its communicator. Called with the
  /// lock; may add to `task.after`.
  virtual void issue(const TaskPtr &task) = 0;
};

/// A thread that calls, and the worker for what it launches.
struct Caller {
  Caller(const std::string &name, int rank);
  /// -1 for a thread that is not named after a rank.
  int rank;
  Trace trace;
  CUcontext context = nullptr;
  /// Captures that the thread has begun and not ended.
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<std::string, uint64_t> calls;
  /// How many groups of NCCL it has opened.
  uint64_t groups = 0;

  // Of the worker.
  Tasks ready;
  std::condition_variable wake;
  bool hasWorker = false, isAsked = false;
  std::chrono::steady_clock::time_point lastReady;
  std::mt19937_64 random;
  std::map<unsigned, uint64_t> priorities;
};

/// The caller of this thread.
Caller &caller();

/// Guards everything that calls share.
std::mutex &theLock();
/// Something ended, or came to be.
std::condition_variable &theChange();

/// What a graph is made of.
struct Capture {
  CUstream origin = nullptr;
  Caller *owner = nullptr;
  Tasks nodes;
  std::vector<CUstream> streams;
  bool isInvalid = false, isEnded = false;
  int mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
};

// All below with the lock held.

/// Puts a task behind `after`; it runs when those have ended.
void submit(const TaskPtr &task);
/// A task ends; what waits for it may go on, or fails with it.
void finish(const TaskPtr &task, CUresult error);
/// Done, not ready, or the error of one of them.
CUresult statusOf(const Tasks &tasks);
/// Drops those that have ended well.
void prune(Tasks &tasks);
/// Lets the workers that have to do with `tasks` begin.
void ask(const Tasks &tasks);
/// Waits until all have ended; releases the lock meanwhile.
CUresult await(std::unique_lock<std::mutex> &lock, const Tasks &tasks);
/// No task is under way.
bool isIdle();

/// Copies what was captured and submits it behind `behind`; returns what ends it.
Tasks launchGraph(const Tasks &nodes, const Tasks &behind);

/// Reports what the work of a launch did wrong.
void complain(Caller &who, uint64_t line, const std::string &text);

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_WORK_H
