//===- ModelParameters.cpp - The parameters that a model has --------------===//

#include "pipemesh/Import/ModelParameters.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pipemesh {

namespace {
class ParameterList {
public:
  void add(const Twine &name, ArrayRef<int64_t> shape,
           ArrayRef<int64_t> view = {}) {
    parameters.push_back({name.str(), SmallVector<int64_t, 2>(shape),
                          SmallVector<int64_t, 3>(view)});
  }
  /// A linear layer as torch.nn.Linear stores it: [outputs, inputs].
  void linear(const std::string &module, int64_t outputs, int64_t inputs,
              bool bias) {
    add(module + ".weight", {outputs, inputs});
    if (bias)
      add(module + ".bias", {outputs});
  }
  /// A linear layer of gpt2, stored as [inputs, outputs].
  void conv1d(const std::string &module, int64_t inputs, int64_t outputs) {
    add(module + ".weight", {inputs, outputs});
    add(module + ".bias", {outputs});
  }
  /// Such layers side by side in one weight. The graph sees which is which, so
  /// that the outputs of each can be cut.
  void joinedConv1d(const std::string &module, int64_t inputs, int64_t parts,
                    int64_t outputs) {
    add(module + ".weight", {inputs, parts * outputs},
        {inputs, parts, outputs});
    add(module + ".bias", {parts * outputs}, {parts, outputs});
  }
  void layerNorm(const std::string &module, int64_t size) {
    add(module + ".weight", {size});
    add(module + ".bias", {size});
  }

  std::vector<ModelParameter> parameters;
};
} // namespace

static void listGPT2(const ModelConfig &config, ParameterList &list) {
  list.add("transformer.wte.weight", {config.vocabulary, config.hidden});
  list.add("transformer.wpe.weight", {config.maxPositions, config.hidden});
  for (int64_t i = 0; i < config.layers; ++i) {
    std::string layer = "transformer.h." + std::to_string(i);
    list.layerNorm(layer + ".ln_1", config.hidden);
    list.joinedConv1d(layer + ".attn.c_attn", config.hidden, 3, config.hidden);
    list.conv1d(layer + ".attn.c_proj", config.hidden, config.hidden);
    list.layerNorm(layer + ".ln_2", config.hidden);
    list.conv1d(layer + ".mlp.c_fc", config.hidden, config.intermediate);
    list.conv1d(layer + ".mlp.c_proj", config.intermediate, config.hidden);
  }
  list.layerNorm("transformer.ln_f", config.hidden);
}

static void listRotaryModel(const ModelConfig &config, ParameterList &list) {
  int64_t queries = config.heads * config.headDimension;
  int64_t keys = config.keyValueHeads * config.headDimension;
  list.add("model.embed_tokens.weight", {config.vocabulary, config.hidden});
  for (int64_t i = 0; i < config.layers; ++i) {
    std::string layer = "model.layers." + std::to_string(i);
    std::string attention = layer + ".self_attn.";
    list.add(layer + ".input_layernorm.weight", {config.hidden});
    bool bias = config.queryKeyValueBias;
    list.linear(attention + "q_proj", queries, config.hidden, bias);
    list.linear(attention + "k_proj", keys, config.hidden, bias);
    list.linear(attention + "v_proj", keys, config.hidden, bias);
    if (config.queryKeyNorm) {
      list.add(attention + "q_norm.weight", {config.headDimension});
      list.add(attention + "k_norm.weight", {config.headDimension});
    }
    list.linear(attention + "o_proj", config.hidden, queries,
                config.attentionOutputBias);
    list.add(layer + ".post_attention_layernorm.weight", {config.hidden});
    std::string mlp = layer + ".mlp.";
    list.linear(mlp + "gate_proj", config.intermediate, config.hidden,
                config.mlpBias);
    list.linear(mlp + "up_proj", config.intermediate, config.hidden,
                config.mlpBias);
    list.linear(mlp + "down_proj", config.hidden, config.intermediate,
                config.mlpBias);
  }
  list.add("model.norm.weight", {config.hidden});
}

FailureOr<std::vector<ModelParameter>> listParameters(const ModelConfig &config,
                                                      Location location) {
  ParameterList list;
  if (config.architecture == Architecture::GPT2)
    listGPT2(config, list);
  else
    listRotaryModel(config, list);
  if (!config.tiedEmbeddings)
    list.add("lm_head.weight", {config.vocabulary, config.hidden});

  int64_t bytes = 0;
  for (const ModelParameter &parameter : list.parameters) {
    int64_t size = sizeof(float);
    bool overflow = false;
    for (int64_t dim : parameter.shape)
      overflow |= llvm::MulOverflow(size, dim, size) != 0;
    overflow |= llvm::AddOverflow(bytes, size, bytes) != 0;
    if (overflow) {
      emitError(location) << "the parameters up to '" << parameter.name
                          << "' need more than 2^63 bytes";
      return failure();
    }
  }
  return std::move(list.parameters);
}

int64_t countElements(ArrayRef<ModelParameter> parameters) {
  int64_t total = 0;
  for (const ModelParameter &parameter : parameters) {
    int64_t size = 1;
    for (int64_t dim : parameter.shape)
      size *= dim;
    total += size;
  }
  return total;
}

/// "model.layers.7.mlp" as "model.layers.*.mlp".
static std::string withoutLayer(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

void printParameters(ArrayRef<ModelParameter> parameters, raw_ostream &os) {
  struct Line {
    std::string shape;
    int64_t count = 0, elements = 0;
  };
  llvm::StringMap<size_t> places;
  std::vector<std::pair<std::string, Line>> lines;
  size_t width = 0;
  for (const ModelParameter &parameter : parameters) {
    std::string pattern = withoutLayer(parameter.name);
    width = std::max(width, pattern.size());
    auto place = places.try_emplace(pattern, lines.size());
    if (place.second)
      lines.push_back({pattern, Line()});
    Line &line = lines[place.first->second].second;
    line.shape.clear();
    for (int64_t dim : parameter.shape)
      line.shape += (line.shape.empty() ? "" : " x ") + std::to_string(dim);
    ++line.count;
    line.elements += countElements(parameter);
  }
  for (auto &[pattern, line] : lines)
    os << llvm::left_justify(pattern, width) << "  "
       << llvm::left_justify(line.shape, 16) << "  " << line.count << " x "
       << line.elements / line.count << " = " << line.elements << '\n';
  os << "parameters " << countElements(parameters) << '\n';
}

} // namespace pipemesh
