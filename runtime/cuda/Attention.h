//===- Attention.h - Attention by cuDNN -----------------------------------===//

#ifndef PIPEMESH_RUNTIME_CUDA_ATTENTION_H
#define PIPEMESH_RUNTIME_CUDA_ATTENTION_H

#include "cuda/AttentionGraph.h"

#include <map>

namespace pipemesh::cuda {

/// Attention that is ready to be launched on the stream of its handle, with the
/// execution plan that was chosen when it was made; it stays the same for all launches.
///
/// Of the engines that cuDNN's heuristic names, the first one that gives the same bits
/// each time and whose workspace fits; where none does, the first one that fits.
class Attention {
public:
  /// Throws an Error that names the shape, the workspace and the way out where no
  /// engine has a plan. `device`: the properties of a GPU that is not there; such an
  /// attention cannot be launched.
  Attention(const Cudnn &cudnn, cudnnHandle_t handle, const pmrt_attention &attention,
            const Descriptor *device = nullptr);

  void launch(const CUdeviceptr *operands, CUdeviceptr workspace);

  bool isDeterministic() const { return deterministic; }
  /// What the graph and its plan use of the workspace.
  uint64_t workspaceBytes() const { return graph->keptBytes() + planBytes; }

private:
  /// Takes a plan of the graph that has sums in memory or has not, if one is better.
  void consider(bool accumulates, const Descriptor *device);

  const Cudnn &cudnn;
  cudnnHandle_t handle;
  const pmrt_attention &attention;
  std::unique_ptr<AttentionGraph> graph;
  std::unique_ptr<Descriptor> engineConfig, plan;
  uint64_t planBytes = 0;
  bool deterministic = false;
  uint64_t leastBytes = UINT64_MAX; ///< of plans that do not fit
  std::string refusal;              ///< the last one of an engine
  /// The pointers of a launch, by the places of its operands.
  std::map<std::vector<CUdeviceptr>, Descriptor> packs;
};

} // namespace pipemesh::cuda

#endif // PIPEMESH_RUNTIME_CUDA_ATTENTION_H
