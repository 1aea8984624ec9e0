//===- CudnnGraph.h - graphs of cuDNN's operations ------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNGRAPH_H
#define PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNGRAPH_H

#include "cuda/CudnnApi.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace pipemesh::cuda::standin {

using Shape = std::array<int64_t, 4>;

struct GraphTensor {
  int64_t id = 0;
  int type = CUDNN_DATA_FLOAT;
  Shape sizes{}, strides{};
  bool isVirtual = false, isValue = false;

  bool operator==(const GraphTensor &) const = default;
  uint64_t bytesOfElement() const {
    return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
  }
  /// From the first element to the last one.
  uint64_t span() const;
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

struct GraphOperation {
  enum Kind { Matmul, Pointwise, Reduction, Reshape } kind = Matmul;
  int mode = 0; ///< of the pointwise operation or of the reduction
  int64_t axis = -1;
  std::vector<int64_t> inputs; ///< ids
  int64_t output = 0;
};

struct OperationGraph {
  std::map<int64_t, GraphTensor> tensors;
  std::vector<GraphOperation> operations;

  /// The operation that makes a tensor; null of one that is there.
  const GraphOperation *makerOf(int64_t id) const;
};

/// What a graph of attention is, found in how its operations hang together.
struct AttentionForm {
  bool isKnown = false;
  bool isGradient = false, isCausal = false;
  bool accumulates = false; ///< the queries' gradient in float32 in memory
  int64_t batch = 0, heads = 0, keyHeads = 0, queries = 0, keys = 0, size = 0;
  std::string problem; ///< where it is not known

  /// What engines for GPUs need (as cuDNN 9.24 says for sm_90).
  uint64_t workspace() const;
};

/// Attention as cuDNN's fused engines take it, or its gradient: the structure, the
/// types and the limits of the shape.
AttentionForm recognize(const OperationGraph &graph);

/// Computes all tensors that are not virtual, operation by operation, in float32,
/// rounded to each tensor's type. `places`: where tensors with memory are, and values.
void evaluate(const OperationGraph &graph, const std::map<int64_t, void *> &places);

} // namespace pipemesh::cuda::standin

#endif // PIPEMESH_RUNTIME_CUDA_STANDIN_CUDNNGRAPH_H
