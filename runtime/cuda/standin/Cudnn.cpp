//===- Cudnn.cpp - libcudnn.so.9 ------------------------------------------===//
//
// Descriptors keep what is set, and are checked as they are finished. A graph has
// engines where it is attention; an execution is recorded with what it reads and
// writes, and computed operation by operation.
//
//===----------------------------------------------------------------------===//

#include "cuda/standin/Call.h"
#include "cuda/standin/CudnnAttributes.h"
#include "cuda/standin/CudnnDescriptors.h"
#include "cuda/standin/Entries.h"
#include "cuda/standin/LibraryWork.h"
#include "cuda/standin/Memory.h"

#include <algorithm>
#include <cstring>

namespace pipemesh::cuda {

using namespace standin;

struct cudnnContext {
  unsigned number = 0;
  CUstream stream = nullptr;
};

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  Call call("cudnnCreate");
  if (call.fails())
    return call.failed();
  *handle = new cudnnContext;
  return call.done();
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  Call call("cudnnDestroy");
  if (call.fails())
    return call.failed();
  delete handle;
  return call.done();
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
  Call call("cudnnSetStream");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  if (!handle || !streamOf(stream))
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM, "there is no such stream"));
  handle->stream = stream;
  return call.done();
}

size_t cudnnGetVersion() { return 92400; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_NOT_INITIALIZED:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN:
    return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
  case CUDNN_STATUS_EXECUTION_FAILED:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH:
    return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
  case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE:
    return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
  default:
    return status / 1000 == 2   ? "CUDNN_STATUS_BAD_PARAM"
           : status / 1000 == 3 ? "CUDNN_STATUS_NOT_SUPPORTED"
                                : "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

void cudnnGetLastErrorString(char *text, size_t bytes) {
  if (!text || !bytes)
    return;
  std::string reason = takeReason();
  size_t length = std::min(bytes - 1, reason.size());
  reason.copy(text, length);
  text[length] = 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(int type,
                                           cudnnBackendDescriptor_t *descriptor) {
  Call call("cudnnBackendCreateDescriptor");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  if (!descriptor || !isDescriptor(type))
    return call.done(refuse(CUDNN_STATUS_NOT_SUPPORTED,
                            "descriptor " + std::to_string(type) + " is not known"));
  CudnnDescriptor *made = descriptors().make();
  made->type = type;
  *descriptor = made;
  return call.done();
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  Call call("cudnnBackendDestroyDescriptor");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  if (!descriptors().drop(static_cast<CudnnDescriptor *>(descriptor)))
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM, "there is no such descriptor"));
  return call.done();
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, int name,
                                       int type, int64_t count, const void *elements) {
  Call call("cudnnBackendSetAttribute");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  CudnnDescriptor *known = descriptorOf(descriptor);
  if (!known)
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM, "there is no such descriptor"));
  return call.done(setAttribute(*known, name, type, count, elements));
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, int name,
                                       int type, int64_t requested, int64_t *count,
                                       void *elements) {
  Call call("cudnnBackendGetAttribute");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  CudnnDescriptor *known = descriptorOf(descriptor);
  if (!known)
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM, "there is no such descriptor"));
  return call.done(getAttribute(*known, name, type, requested, count, elements));
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Call call("cudnnBackendFinalize");
  std::lock_guard guard(theLock());
  if (call.fails())
    return call.failed();
  CudnnDescriptor *known = descriptorOf(descriptor);
  if (!known || known->isFinished)
    return call.done(
        refuse(CUDNN_STATUS_BAD_PARAM, "there is no descriptor to finish"));
  if (const AttributeForm *missing =
          missingOf(known->type, [&](int name) { return known->has(name); }))
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM,
                            "descriptor " + std::to_string(known->type) +
                                " lacks attribute " + std::to_string(missing->name)));
  // Engines come out of heuristics only.
  if (known->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR ||
      known->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
    return call.done(refuse(CUDNN_STATUS_NOT_SUPPORTED,
                            "an engine that no heuristic has named"));
  cudnnStatus_t status = finish(*known);
  known->isFinished = status == CUDNN_STATUS_SUCCESS;
  return call.done(status);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variantPack) {
  Call call("cudnnBackendExecute");
  std::lock_guard guard(theLock());
  CudnnDescriptor *what = descriptorOf(plan), *pack = descriptorOf(variantPack);
  CUstream stream = handle ? streamOf(handle->stream) : nullptr;
  if (!stream || !what || !pack || !what->isFinished || !pack->isFinished ||
      what->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                            "a plan or its pointers are not finished"));
  const Engine &engine = what->engines.front();
  const OperationGraph &graph = *engine.graph;
  std::map<int64_t, void *> places;
  auto ids = pack->all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers = pack->all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i)
    places[ids[i]] = pointers[i];
  std::vector<Bytes> reads, writes;
  auto values = std::make_shared<std::map<int64_t, float>>();
  for (const auto &[id, tensor] : graph.tensors) {
    if (tensor.isVirtual)
      continue;
    auto found = places.find(id);
    if (found == places.end() || !found->second)
      return call.done(refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                              "tensor " + std::to_string(id) + " has no place"));
    if (tensor.isValue) {
      // The host's number is taken at once.
      float &value = (*values)[id];
      std::memcpy(&value, found->second, sizeof(value));
      continue;
    }
    auto address = reinterpret_cast<uint64_t>(found->second);
    if (address % 16)
      return call.done(refuse(CUDNN_STATUS_BAD_PARAM,
                              "tensor " + std::to_string(id) + " is not aligned"));
    (graph.makerOf(id) ? writes : reads).push_back({address, tensor.span()});
  }
  auto *workspace = pack->get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (engine.workspace && !workspace)
    return call.done(refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no workspace"));
  call.add("stream", stream->number)
      .add("engine", engine.number);
  LibraryWork work;
  work.reads = reads;
  work.writes = writes;
  work.workspace = reinterpret_cast<uint64_t>(workspace);
  work.workspaceBytes = work.neededBytes = engine.workspace;
  work.statusInCapture = CUDNN_STATUS_EXECUTION_FAILED;
  work.outside = "cudnnBackendExecute: a tensor or the workspace is outside of what is "
                 "allocated";
  work.compute = [=, graph = engine.graph] {
    auto own = places;
    for (auto &[id, value] : *values)
      own[id] = &value;
    evaluate(*graph, own);
  };
  return launchWork(call, stream, work);
}

} // extern "C"

} // namespace pipemesh::cuda
