//===- GPT2Graph.cpp - The graph of gpt2 ----------------------------------===//

#include "GraphBuilder.h"

using namespace mlir;

namespace pipemesh {

static Value buildAttention(GraphBuilder &graph, const std::string &module,
                            Value x, int64_t layer) {
  const ModelConfig &config = graph.config;
  std::string projection = module + ".c_attn";
  // [batch, sequence, 3, hidden]: queries, keys and values.
  Value all = graph.linear(projection, x, /*hasBias=*/true,
                           /*transposed=*/true);
  auto part = [&](int64_t i) {
    Value y = graph.slice(projection, all, 2, i, i + 1);
    return graph.reshape(
        projection, y,
        {graph.batch, graph.sequence, config.heads, config.headDimension});
  };
  Value q = part(0), k = part(1), v = part(2);
  Value mixed = graph.attention(module, q, k, v, layer);
  return graph.linear(module + ".c_proj", mixed, /*hasBias=*/true,
                      /*transposed=*/true);
}

static Value buildMLP(GraphBuilder &graph, const std::string &module, Value x) {
  Value y = graph.linear(module + ".c_fc", x, /*hasBias=*/true,
                         /*transposed=*/true);
  y = graph.activation(module + ".act", y);
  return graph.linear(module + ".c_proj", y, /*hasBias=*/true,
                      /*transposed=*/true);
}

/// The first `sequence` rows of the learned positions, for each sequence.
static Value buildPositions(GraphBuilder &graph, const std::string &module) {
  Value rows = graph.parameter(module + ".weight");
  if (graph.sequence != graph.config.maxPositions)
    rows = graph.slice(module, rows, 0, 0, graph.sequence);
  return graph.broadcast(module, rows, {1, 2},
                         {graph.batch, graph.sequence, graph.config.hidden});
}

Value buildGPT2(GraphBuilder &graph, Value ids) {
  Value x = graph.embedding("transformer.wte", ids);
  x = graph.add("transformer", x, buildPositions(graph, "transformer.wpe"));
  for (int64_t i = 0; i < graph.config.layers; ++i) {
    std::string layer = "transformer.h." + std::to_string(i);
    Value normed = graph.layerNorm(layer + ".ln_1", x);
    x = graph.add(layer, x, buildAttention(graph, layer + ".attn", normed, i));
    normed = graph.layerNorm(layer + ".ln_2", x);
    x = graph.add(layer, x, buildMLP(graph, layer + ".mlp", normed));
  }
  return graph.head(graph.layerNorm("transformer.ln_f", x), "transformer.wte");
}

} // namespace pipemesh
