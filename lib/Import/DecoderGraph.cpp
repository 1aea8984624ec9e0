//===- DecoderGraph.cpp - Graphs of llama, qwen2, qwen3 and mistral -------===//

#include "GraphBuilder.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Import/RotaryFrequencies.h"

using namespace mlir;

namespace pipemesh {

namespace {
struct RotaryTables {
  Value cos, sin;
};
} // namespace

/// Cosines and sines of position x frequency, [sequence, headDimension / 2].
static RotaryTables buildRotaryTables(GraphBuilder &graph) {
  const StringRef module = "model.rotary_emb";
  Location loc = graph.at(module);
  RotaryFrequencies frequencies =
      computeRotaryFrequencies(graph.config.rotary, graph.config.headDimension);
  int64_t pairs = graph.config.headDimension / 2;
  SmallVector<float> values(frequencies.inverseFrequencies.begin(),
                            frequencies.inverseFrequencies.end());
  Value inverse = stablehlo::ConstantOp::create(
      graph.builder, loc,
      DenseElementsAttr::get(graph.f32({pairs}), ArrayRef<float>(values)));
  Value positions = stablehlo::IotaOp::create(graph.builder, loc,
                                              graph.f32({graph.sequence}), 0);
  SmallVector<int64_t> shape = {graph.sequence, pairs};
  Value angles =
      graph.multiply(module, graph.broadcast(module, positions, {0}, shape),
                     graph.broadcast(module, inverse, {1}, shape));
  RotaryTables tables;
  tables.cos = stablehlo::CosineOp::create(graph.builder, loc, angles);
  tables.sin = stablehlo::SineOp::create(graph.builder, loc, angles);
  if (frequencies.attentionFactor != 1.0) {
    Value factor = graph.splat(module, frequencies.attentionFactor, shape);
    tables.cos = graph.multiply(module, tables.cos, factor);
    tables.sin = graph.multiply(module, tables.sin, factor);
  }
  return tables;
}

static Value rotate(GraphBuilder &graph, const Twine &module, Value x,
                    RotaryTables tables) {
  return pm::RopeOp::create(graph.builder, graph.at(module), x.getType(), x,
                            tables.cos, tables.sin, /*inverse=*/false);
}

static Value buildAttention(GraphBuilder &graph, StringRef module, Value x,
                            RotaryTables tables, int64_t layer) {
  const ModelConfig &config = graph.config;
  auto project = [&](const char *name, int64_t heads) {
    std::string projection = (module + "." + name).str();
    Value y = graph.linear(projection, x, config.queryKeyValueBias);
    return graph.reshape(
        projection, y,
        {graph.batch, graph.sequence, heads, config.headDimension});
  };
  Value q = project("q_proj", config.heads);
  Value k = project("k_proj", config.keyValueHeads);
  Value v = project("v_proj", config.keyValueHeads);
  if (config.queryKeyNorm) {
    q = graph.rmsNorm(module + ".q_norm", q);
    k = graph.rmsNorm(module + ".k_norm", k);
  }
  q = rotate(graph, module + ".q_rotary", q, tables);
  k = rotate(graph, module + ".k_rotary", k, tables);
  Value mixed = graph.attention(module, q, k, v, layer);
  return graph.linear(module + ".o_proj", mixed, config.attentionOutputBias);
}

/// down(act(gate(x)) * up(x)), Shazeer 2020.
static Value buildMLP(GraphBuilder &graph, StringRef module, Value x) {
  bool bias = graph.config.mlpBias;
  Value gate = graph.linear(module + ".gate_proj", x, bias);
  Value up = graph.linear(module + ".up_proj", x, bias);
  gate = graph.activation(module + ".act_fn", gate);
  return graph.linear(module + ".down_proj", graph.multiply(module, gate, up),
                      bias);
}

Value buildRotaryDecoder(GraphBuilder &graph, Value ids) {
  Value x = graph.embedding("model.embed_tokens", ids);
  RotaryTables tables = buildRotaryTables(graph);
  for (int64_t i = 0; i < graph.config.layers; ++i) {
    std::string layer = "model.layers." + std::to_string(i);
    Value normed = graph.rmsNorm(layer + ".input_layernorm", x);
    x = graph.add(
        layer, x,
        buildAttention(graph, layer + ".self_attn", normed, tables, i));
    normed = graph.rmsNorm(layer + ".post_attention_layernorm", x);
    x = graph.add(layer, x, buildMLP(graph, layer + ".mlp", normed));
  }
  return graph.head(graph.rmsNorm("model.norm", x), "model.embed_tokens");
}

} // namespace pipemesh
