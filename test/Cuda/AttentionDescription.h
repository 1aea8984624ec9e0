//===- AttentionDescription.h - dense attention as tables describe it -----===//

#ifndef PIPEMESH_TEST_CUDA_ATTENTIONDESCRIPTION_H
#define PIPEMESH_TEST_CUDA_ATTENTIONDESCRIPTION_H

#include "pmrt/pmrt.h"

namespace pipemesh::cuda {

struct AttentionShape {
  int64_t batch = 2, heads = 4, keyHeads = 2, queries = 5, keys = 40, size = 16;
  bool isCausal = false;
};

/// In bf16; [batch, positions, heads, size] one behind the other.
inline pmrt_attention describe(const AttentionShape &shape, bool isGradient, float scale,
                               uint64_t workspace) {
  pmrt_attention a{};
  a.batch = shape.batch;
  a.heads = shape.heads;
  a.key_heads = shape.keyHeads;
  a.queries = shape.queries;
  a.keys = shape.keys;
  a.size = shape.size;
  auto lay = [&](int64_t (&strides)[3], int64_t positions, int64_t heads) {
    strides[0] = positions * heads * shape.size;
    strides[1] = heads * shape.size;
    strides[2] = shape.size;
  };
  lay(a.query_strides, shape.queries, shape.heads);
  lay(a.key_strides, shape.keys, shape.keyHeads);
  lay(a.value_strides, shape.keys, shape.keyHeads);
  lay(a.result_strides, shape.queries, shape.heads);
  a.workspace_bytes = workspace;
  a.scale = scale;
  a.causal = shape.isCausal;
  a.gradient = isGradient;
  a.dtype = PMRT_BF16;
  return a;
}

} // namespace pipemesh::cuda

#endif // PIPEMESH_TEST_CUDA_ATTENTIONDESCRIPTION_H
