//===- CudnnDescriptors.h - what cuDNN's descriptors hold -----------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNDESCRIPTORS_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNDESCRIPTORS_H

#include "cuda/standin/CudnnGraph.h"
#include "cuda/standin/Objects.h"

#include <cstring>

namespace pipemesh::cuda::standin {

/// An engine for a graph.
struct Engine {
  int number = 0;
  bool isRepeatable = true;
  uint64_t workspace = 0;
  std::shared_ptr<const OperationGraph> graph;
};

struct Attribute {
  int64_t count = 0;
  std::vector<char> bytes;

  template <typename T> T get(int64_t i = 0) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
};

/// What a cudnnBackendDescriptor_t points to.
struct CudnnDescriptor {
  unsigned number = 0;
  int type = 0;
  bool isFinished = false;
  std::map<int, Attribute> attributes;

  // What it is, once it is finished.
  GraphTensor tensor;
  GraphOperation operation;
  std::map<int64_t, GraphTensor> tensors; ///< of an operation
  std::shared_ptr<OperationGraph> graph;
  std::vector<Engine> engines; ///< of a heuristic all, of the others one

  bool has(int name) const { return attributes.count(name) != 0; }
  template <typename T> T get(int name, T otherwise = {}) const {
    auto found = attributes.find(name);
    return found == attributes.end() ? otherwise : found->second.get<T>();
  }
  template <typename T> std::vector<T> all(int name) const {
    std::vector<T> values;
    const Attribute &attribute = attributes.at(name);
    for (int64_t i = 0; i < attribute.count; ++i)
      values.push_back(attribute.get<T>(i));
    return values;
  }
};

// All with the lock held.

Handles<CudnnDescriptor> &descriptors();
/// Null where the handle is none.
CudnnDescriptor *descriptorOf(cudnnBackendDescriptor_t handle);

/// Checks what is set, and makes of it what the descriptor is.
cudnnStatus_t finish(CudnnDescriptor &d);
cudnnStatus_t setAttribute(CudnnDescriptor &d, int name, int type, int64_t count,
                           const void *elements);
cudnnStatus_t getAttribute(CudnnDescriptor &d, int name, int type, int64_t requested,
                           int64_t *count, void *elements);

/// Keeps why a call of this thread is refused, and returns the status.
cudnnStatus_t refuse(cudnnStatus_t status, std::string why);
/// The last one's reason, which is forgotten then.
std::string takeReason();

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNDESCRIPTORS_H
