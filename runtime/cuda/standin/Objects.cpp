//===- Objects.cpp - what handles stand for -------------------------------===//

#include "cuda/standin/Objects.h"

#include <algorithm>

namespace pipemesh::cuda::standin {

Objects &objects() {
  static Objects &all = *new Objects;
  return all;
}

CUstream streamOf(CUstream handle) {
  if (handle)
    return objects().streams.has(handle) ? handle : nullptr;
  CUcontext context = caller().context;
  if (!context)
    return nullptr;
  CUstream_st &stream = objects().defaults[context];
  stream.context = context;
  stream.isBlocking = true;
  return &stream;
}

static void append(Tasks &to, const Tasks &from) {
  for (const TaskPtr &task : from)
    if (std::find(to.begin(), to.end(), task) == to.end())
      to.push_back(task);
}

Tasks orderOf(CUstream stream) {
  Tasks order = stream->last;
  if (stream->capture || !stream->isBlocking)
    return order;
  // The stream without a handle is behind all that are not created with
  // CU_STREAM_NON_BLOCKING, and they are behind it.
  if (stream->number == 0) {
    for (CUstream other : objects().streams.all)
      if (other->isBlocking && other->context == stream->context && !other->capture)
        append(order, other->last);
  } else {
    append(order, objects().defaults[stream->context].last);
  }
  return order;
}

static TaskPtr launch(const std::vector<CUstream> &streams, const TaskPtr &task) {
  CUstream first = streams.front();
  task->owner = &caller();
  task->lane = first->number;
  for (CUstream stream : streams)
    append(task->after, orderOf(stream));
  if (first->capture) {
    task->state = Task::Template;
    first->capture->nodes.push_back(task);
  }
  for (CUstream stream : streams)
    stream->last = {task};
  if (!first->capture) {
    submit(task);
    for (CUstream stream : streams)
      prune(stream->last);
  }
  return task;
}

TaskPtr launch(CUstream stream, std::function<CUresult()> body, bool isStuck) {
  auto task = std::make_shared<Task>();
  task->body = std::move(body);
  task->isStuck = isStuck;
  return launch({stream}, task);
}

TaskPtr launch(const std::vector<CUstream> &streams, std::shared_ptr<Exchange> exchange,
               bool isStuck) {
  auto task = std::make_shared<Task>();
  task->exchange = std::move(exchange);
  task->isStuck = isStuck;
  return launch(streams, task);
}

CUresult captureStatus(CUstream stream) {
  return stream->capture && stream->capture->isInvalid
             ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
             : CUDA_SUCCESS;
}

CUresult refuseInCapture(Caller &who) {
  if (who.captures.empty())
    return CUDA_SUCCESS;
  for (auto &capture : who.captures)
    capture->isInvalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

} // namespace pipemesh::cuda::standin
