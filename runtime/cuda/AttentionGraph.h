//===- AttentionGraph.h - Attention as a graph of cuDNN's operations ------===//

#ifndef PIPEMESH_RUNTIME_CUDA_ATTENTIONGRAPH_H
#define PIPEMESH_RUNTIME_CUDA_ATTENTIONGRAPH_H

#include "cuda/Cudnn.h"
#include "pmrt/pmrt.h"

#include <array>
#include <memory>
#include <optional>

namespace pipemesh::cuda {

/// The operations of attention, or of its gradient, in the form that cuDNN's engines
/// of fused attention take: scores, mask, softmax and products are virtual, and
/// nothing of the size of all scores is written (cuDNN's documentation of the graph
/// API, "Fused Flash Attention fprop" and "bprop").
class AttentionGraph {
public:
  /// `accumulates`: the gradient of the queries is summed up in float32 in the
  /// workspace, block by block of keys; engines need no workspace of the size of the
  /// scores then, but add in an order of their own. `handle` may be null where engines
  /// are asked for another device.
  AttentionGraph(const Cudnn &cudnn, cudnnHandle_t handle,
                 const pmrt_attention &attention, bool accumulates);

  const Descriptor &get() const { return *graph; }

  /// Tensors with memory: the instruction's operands in their order.
  const std::vector<int64_t> &operands() const { return operandIds; }
  /// Those that lie in the workspace.
  struct Kept {
    int64_t id;
    uint64_t offset;
  };
  const std::vector<Kept> &kept() const { return keptTensors; }
  /// Bytes of the workspace in front of what a plan needs.
  uint64_t keptBytes() const { return bytes; }
  /// Numbers that are handed over with each launch.
  struct Number {
    int64_t id;
    float value;
  };
  const std::vector<Number> &numbers() const { return values; }

private:
  using Shape = std::array<int64_t, 4>;
  /// A tensor of the graph, whose descriptor lives as long as the graph.
  struct Tensor {
    const Descriptor *descriptor;
    Shape shape;
  };

  Tensor add(const Shape &shape, const Shape &strides, int type, bool isVirtual,
             bool isValue = false);
  /// One whose rows lie together.
  Tensor addVirtual(const Shape &shape, int type = CUDNN_DATA_FLOAT);
  Tensor operand(const Shape &shape, const Shape &strides, int type);
  Tensor kept(const Shape &shape);
  Tensor number(float value);

  void multiply(const Tensor &a, const Tensor &b, const Tensor &c);
  void reduce(int how, const Tensor &from, const Tensor &to);
  void reshape(const Tensor &from, const Tensor &to);
  void point(int mode, int compute, const Tensor &x, const Tensor *b, const Tensor *t,
             const Tensor &y, std::optional<int64_t> axis = {});
  Tensor point(int mode, const Tensor &x, const Tensor &b);
  Tensor point(int mode, const Tensor &x);

  /// scale Q K^T, what a query does not see minus infinity.
  Tensor scores(const Tensor &query, const Tensor &transposedKey);
  void forward();
  void gradient(bool accumulates);
  void finish(cudnnHandle_t handle);

  const Cudnn &cudnn;
  const pmrt_attention &attention;
  int type;
  std::vector<std::unique_ptr<Descriptor>> tensors, descriptions, operations;
  std::unique_ptr<Descriptor> graph;
  std::vector<int64_t> operandIds;
  std::vector<Kept> keptTensors;
  std::vector<Number> values;
  uint64_t bytes = 0;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_ATTENTIONGRAPH_H
