//===- Attention.cpp - Attention by cuDNN ---------------------------------===//

#include "cuda/Attention.h"

namespace pipemesh::cuda {

static std::string describe(const pmrt_attention &a) {
  return cat(a.gradient ? "the gradient of " : "", a.causal ? "causal " : "",
             "attention in ", a.dtype == PMRT_BF16 ? "bf16" : "f16", " of ", a.batch,
             " x ", a.heads, " heads (", a.key_heads, " of keys) of size ", a.size, ", ",
             a.queries, " queries and ", a.keys, " keys");
}

Attention::Attention(const Cudnn &cudnn, cudnnHandle_t handle,
                     const pmrt_attention &attention, const Descriptor *device)
    : cudnn(cudnn), handle(handle), attention(attention) {
  consider(/*accumulates=*/false, device);
  if (attention.gradient && !deterministic)
    consider(/*accumulates=*/true, device);
  if (plan)
    return;
  fail("cuDNN ", cudnn.version(), " has no plan for ", describe(attention), " in ",
       attention.workspace_bytes, " bytes of workspace",
       leastBytes != UINT64_MAX ? cat(": it needs ", leastBytes)
       : refusal.empty()        ? std::string()
                                : cat(": ", refusal),
       "; compile with --attention=own");
}

/// The engine configurations that a heuristic names for a graph, best ones first.
static std::vector<Descriptor> engines(const Cudnn &cudnn, const AttentionGraph &graph,
                                       int mode, const Descriptor *device) {
  Descriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (device)
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  std::vector<Descriptor> made;
  // A graph that no engine takes is refused here.
  if (heuristic.tryFinalize() != CUDNN_STATUS_SUCCESS)
    return made;
  int64_t count = heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i) {
    made.emplace_back(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(made.back().get());
  }
  count = heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                        count, handles.data());
  while (static_cast<int64_t>(made.size()) > count)
    made.pop_back();
  return made;
}

static bool isDeterministicEngine(const Cudnn &cudnn, const Descriptor &config) {
  Descriptor engine(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  int notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                             CUDNN_TYPE_NUMERICAL_NOTE, std::size(notes), notes);
  for (int64_t i = 0; i < count; ++i)
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
      return false;
  return true;
}

void Attention::consider(bool accumulates, const Descriptor *device) {
  auto candidate =
      std::make_unique<AttentionGraph>(cudnn, handle, attention, accumulates);
  uint64_t limit = attention.workspace_bytes, kept = candidate->keptBytes();
  if (kept > limit) {
    leastBytes = std::min(leastBytes, kept);
    return;
  }
  bool isTaken = false;
  std::unique_ptr<Descriptor> takenConfig, takenPlan;
  for (int mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor &config : engines(cudnn, *candidate, mode, device)) {
      // Sums in memory are added up in any order, which the notes do not say.
      bool isRepeatable = !accumulates && isDeterministicEngine(cudnn, config);
      if (!isRepeatable && (plan || takenPlan))
        continue;
      auto made = std::make_unique<Descriptor>(
          cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      if (handle)
        made->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
      made->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (device)
        made->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device);
      if (cudnnStatus_t status = made->tryFinalize(); status != CUDNN_STATUS_SUCCESS) {
        refusal = cudnn.textOf(status);
        continue;
      }
      int64_t bytes = 0;
      made->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
      if (static_cast<uint64_t>(bytes) > limit - kept) {
        leastBytes = std::min(leastBytes, kept + static_cast<uint64_t>(bytes));
        continue;
      }
      takenConfig = std::make_unique<Descriptor>(std::move(config));
      takenPlan = std::move(made);
      planBytes = static_cast<uint64_t>(bytes);
      deterministic = isRepeatable;
      isTaken = true;
      if (deterministic)
        break;
    }
    if (isTaken)
      break;
  }
  if (!isTaken)
    return;
  // A plan lives no longer than its graph.
  plan = std::move(takenPlan);
  engineConfig = std::move(takenConfig);
  graph = std::move(candidate);
}

void Attention::launch(const CUdeviceptr *operands, CUdeviceptr workspace) {
  std::vector<CUdeviceptr> places(operands, operands + graph->operands().size());
  auto known = packs.find(places);
  if (known == packs.end()) {
    std::vector<int64_t> ids = graph->operands();
    std::vector<void *> pointers;
    for (CUdeviceptr place : places)
      pointers.push_back(reinterpret_cast<void *>(place));
    for (const AttentionGraph::Kept &kept : graph->kept()) {
      ids.push_back(kept.id);
      pointers.push_back(reinterpret_cast<void *>(workspace + kept.offset));
    }
    for (const AttentionGraph::Number &number : graph->numbers()) {
      ids.push_back(number.id);
      pointers.push_back(const_cast<float *>(&number.value));
    }
    Descriptor pack(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
             reinterpret_cast<void *>(workspace + graph->keptBytes()));
    pack.finalize("the pointers of an attention");
    known = packs.emplace(std::move(places), std::move(pack)).first;
  }
  cudnn.check(cudnn.cudnnBackendExecute(handle, plan->get(), known->second.get()),
              "cudnnBackendExecute of ", describe(attention));
}

} // namespace pipemesh::cuda
