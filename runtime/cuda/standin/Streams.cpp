//===- Streams.cpp - libcuda.so.1: streams, events, graphs ----------------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/Objects.h"

#include <algorithm>

namespace pipemesh::cuda {

using namespace standin;

namespace {

/// Every one of `tasks` is among `last` or before one of them.
bool isReached(const Tasks &tasks, const Tasks &last) {
  std::set<const Task *> seen;
  Tasks open = last;
  while (!open.empty()) {
    TaskPtr task = open.back();
    open.pop_back();
    if (!seen.insert(task.get()).second)
      continue;
    open.insert(open.end(), task->after.begin(), task->after.end());
  }
  return std::all_of(tasks.begin(), tasks.end(),
                     [&](const TaskPtr &task) { return seen.count(task.get()) != 0; });
}

void endCapture(const std::shared_ptr<Capture> &capture) {
  capture->isEnded = true;
  for (CUstream stream : capture->streams) {
    if (!objects().streams.has(stream))
      continue;
    stream->capture = nullptr;
    stream->last = stream->lastBefore;
    stream->lastBefore.clear();
  }
  auto &open = capture->owner->captures;
  open.erase(std::remove(open.begin(), open.end(), capture), open.end());
}

void joinCapture(CUstream stream, const std::shared_ptr<Capture> &capture) {
  stream->capture = capture;
  stream->lastBefore = std::move(stream->last);
  stream->last.clear();
  capture->streams.push_back(stream);
}

CUresult invalidate(const std::shared_ptr<Capture> &capture, CUresult error) {
  capture->isInvalid = true;
  return error;
}

} // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  Call call("cuStreamCreate");
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  std::lock_guard guard(theLock());
  CUstream made = objects().streams.make();
  made->context = call.who.context;
  made->isBlocking = !(flags & CU_STREAM_NON_BLOCKING);
  *stream = made;
  return call.add("stream", made->number).done();
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  Call call("cuStreamDestroy_v2");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().streams.has(stream))
    return call.done(kInvalidHandle);
  if (stream->capture)
    stream->capture->isInvalid = true;
  call.add("stream", stream->number);
  objects().streams.drop(stream);
  return call.done();
}

CUresult cuStreamSynchronize(CUstream handle) {
  Call call("cuStreamSynchronize");
  std::unique_lock lock(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(kInvalidHandle);
  call.add("stream", stream->number);
  if (call.fails())
    return call.failed();
  if (stream->capture)
    return call.done(
        invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  return call.done(await(lock, orderOf(stream)));
}

CUresult cuStreamQuery(CUstream handle) {
  Call call("cuStreamQuery");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream)
    return call.done(kInvalidHandle);
  call.add("stream", stream->number);
  if (call.fails())
    return call.failed();
  if (stream->capture)
    return call.done(
        invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  prune(stream->last);
  Tasks order = orderOf(stream);
  CUresult status = statusOf(order);
  if (status == CUDA_ERROR_NOT_READY)
    ask(order);
  return call.polled(stream->number, status, status != CUDA_ERROR_NOT_READY);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  Call call("cuStreamWaitEvent");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream || !objects().events.has(event))
    return call.done(kInvalidHandle);
  call.add("stream", stream->number).add("event", event->number);
  if (stream->capture || event->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  if (event->capture) {
    if (event->capture->isEnded)
      return call.done(kCapturedEvent);
    if (event->capture->isInvalid)
      return call.done(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (!stream->capture && stream->number == 0)
      return call.done(invalidate(event->capture, kCaptureImplicit));
    if (!stream->capture)
      joinCapture(stream, event->capture);
    else if (stream->capture != event->capture) {
      invalidate(event->capture, kCaptureMerge);
      return call.done(invalidate(stream->capture, kCaptureMerge));
    }
  } else if (stream->capture) {
    if (!event->recorded.empty())
      return call.done(invalidate(stream->capture, kCaptureIsolation));
    return call.done();
  }
  for (const TaskPtr &task : event->recorded)
    if (std::find(stream->last.begin(), stream->last.end(), task) == stream->last.end())
      stream->last.push_back(task);
  if (!stream->capture)
    prune(stream->last);
  return call.done();
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  Call call("cuEventCreate");
  if (call.fails())
    return call.failed();
  if (!call.who.context)
    return call.done(kInvalidContext);
  std::lock_guard guard(theLock());
  CUevent made = objects().events.make();
  *event = made;
  return call.add("event", made->number).done();
}

CUresult cuEventDestroy_v2(CUevent event) {
  Call call("cuEventDestroy_v2");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().events.has(event))
    return call.done(kInvalidHandle);
  call.add("event", event->number);
  objects().events.drop(event);
  return call.done();
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  Call call("cuEventRecord");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream || !objects().events.has(event))
    return call.done(kInvalidHandle);
  call.add("event", event->number).add("stream", stream->number);
  if (stream->capture)
    call.add("captured", true);
  if (call.fails())
    return call.failed();
  if (CUresult failed = captureStatus(stream))
    return call.done(failed);
  event->capture = stream->capture;
  event->recorded = orderOf(stream);
  return call.done();
}

CUresult cuEventQuery(CUevent event) {
  Call call("cuEventQuery");
  std::lock_guard guard(theLock());
  if (!objects().events.has(event))
    return call.done(kInvalidHandle);
  call.add("event", event->number);
  if (call.fails())
    return call.failed();
  if (event->capture) {
    event->capture->isInvalid = true;
    return call.done(kCapturedEvent);
  }
  if (CUresult refused = refuseInCapture(call.who))
    return call.done(refused);
  prune(event->recorded);
  CUresult status = statusOf(event->recorded);
  if (status == CUDA_ERROR_NOT_READY)
    ask(event->recorded);
  return call.polled(event->number, status, status != CUDA_ERROR_NOT_READY);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  Call call("cuStreamBeginCapture_v2");
  std::lock_guard guard(theLock());
  // The stream without a handle cannot be captured.
  if (!stream)
    return call.done(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (!objects().streams.has(stream))
    return call.done(kInvalidHandle);
  call.add("stream", stream->number);
  if (call.fails())
    return call.failed();
  if (stream->capture)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->owner = &call.who;
  capture->mode = mode;
  joinCapture(stream, capture);
  call.who.captures.push_back(capture);
  return call.done();
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Call call("cuStreamEndCapture");
  std::lock_guard guard(theLock());
  if (!objects().streams.has(stream))
    return call.done(kInvalidHandle);
  call.add("stream", stream->number);
  if (!stream->capture)
    return call.done(CUDA_ERROR_INVALID_VALUE);
  std::shared_ptr<Capture> capture = stream->capture;
  *graph = nullptr;
  if (capture->owner != &call.who)
    return call.done(invalidate(capture, kCaptureWrongThread));
  if (capture->origin != stream)
    return call.done(invalidate(capture, kCaptureUnmatched));
  CUresult result = CUDA_SUCCESS;
  if (call.fails())
    result = call.fault->code;
  else if (capture->isInvalid)
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else
    for (CUstream other : capture->streams)
      if (!isReached(other->last, stream->last))
        result = kCaptureUnjoined;
  endCapture(capture);
  if (result)
    return call.done(result);
  CUgraph made = objects().graphs.make();
  made->nodes = capture->nodes;
  *graph = made;
  return call.add("graph", made->number).add("nodes", made->nodes.size()).done();
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long) {
  Call call("cuGraphInstantiateWithFlags");
  std::lock_guard guard(theLock());
  if (!objects().graphs.has(graph))
    return call.done(kInvalidHandle);
  call.add("graph", graph->number);
  if (call.fails())
    return call.failed();
  CUgraphExec made = objects().executables.make();
  made->nodes = graph->nodes;
  *executable = made;
  return call.add("executable", made->number).done();
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  Call call("cuGraphLaunch");
  std::lock_guard guard(theLock());
  CUstream stream = streamOf(handle);
  if (!stream || !objects().executables.has(executable))
    return call.done(kInvalidHandle);
  call.add("executable", executable->number).add("stream", stream->number);
  if (call.fails())
    return call.failed();
  if (stream->capture)
    return call.done(
        invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  call.done();
  if (call.isStuck())
    launch(stream, nullptr, true);
  Tasks behind = orderOf(stream);
  behind.insert(behind.end(), executable->last.begin(), executable->last.end());
  stream->last = launchGraph(executable->nodes, behind);
  executable->last = stream->last;
  prune(executable->last);
  prune(stream->last);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  Call call("cuGraphExecDestroy");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().executables.has(executable))
    return call.done(kInvalidHandle);
  call.add("executable", executable->number);
  objects().executables.drop(executable);
  return call.done();
}

CUresult cuGraphDestroy(CUgraph graph) {
  Call call("cuGraphDestroy");
  if (call.fails())
    return call.failed();
  std::lock_guard guard(theLock());
  if (!objects().graphs.has(graph))
    return call.done(kInvalidHandle);
  call.add("graph", graph->number);
  objects().graphs.drop(graph);
  return call.done();
}

} // extern "C"

} // namespace pipemesh::cuda
