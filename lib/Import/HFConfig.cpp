//===- HFConfig.cpp - Reads a Hugging Face config.json --------------------===//

#include "pipemesh/Import/HFConfig.h"
#include "ConfigReader.h"
#include "HFFields.h"
#include "HFRotary.h"
#include "HFWindows.h"
#include "pipemesh/Import/JSONText.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace pipemesh {

namespace {

/// What the configuration class of a model type says where a field is missing
/// (transformers 5.24, models/*/configuration_*.py).
struct ClassDefaults {
  Architecture architecture;
  StringRef modelType;
  StringRef causalClass;
  int64_t vocabulary, hidden, intermediate, layers, heads;
  /// 0: as many as heads.
  int64_t keyValueHeads;
  /// 0: hidden / heads.
  int64_t headDimension;
  int64_t maxPositions;
  double normEpsilon;
  StringRef activation;
  bool tiedEmbeddings;
};

} // namespace

static const ClassDefaults kClasses[] = {
    {Architecture::Llama, "llama", "LlamaForCausalLM", 32000, 4096, 11008, 32,
     32, 0, 0, 2048, 1e-6, "silu", false},
    {Architecture::Qwen2, "qwen2", "Qwen2ForCausalLM", 151936, 4096, 22016, 32,
     32, 32, 0, 32768, 1e-6, "silu", false},
    {Architecture::Qwen3, "qwen3", "Qwen3ForCausalLM", 151936, 4096, 22016, 32,
     32, 32, 128, 32768, 1e-6, "silu", false},
    {Architecture::Mistral, "mistral", "MistralForCausalLM", 32000, 4096, 14336,
     32, 32, 8, 0, 131072, 1e-6, "silu", false},
    {Architecture::GPT2, "gpt2", "GPT2LMHeadModel", 50257, 768, 0, 12, 12, 0, 0,
     1024, 1e-5, "gelu_new", true},
};

static constexpr int64_t kMostLayers = 65536;
static constexpr unsigned kMostWarnings = 20;
static constexpr uint64_t kLargestConfig = 16 << 20;

StringRef stringifyArchitecture(Architecture architecture) {
  for (const ClassDefaults &entry : kClasses)
    if (entry.architecture == architecture)
      return entry.modelType;
  return "unknown";
}

/// The class by `architectures` and `model_type`, which must agree when both
/// are there. Emits the error itself.
static const ClassDefaults *findClass(ConfigReader &reader) {
  std::string known;
  for (const ClassDefaults &entry : kClasses)
    known += (known.empty() ? "" : ", ") + entry.modelType.str();

  std::string modelType = reader.has("model_type")
                              ? reader.string("model_type", "")
                              : std::string();
  std::string name;
  if (reader.has("architectures")) {
    const llvm::json::Array *list = reader.fields().getArray("architectures");
    if (!list || (!list->empty() && !list->front().getAsString())) {
      reader.error("architectures", "field 'architectures' is not a list of "
                                    "class names");
      return nullptr;
    }
    if (!list->empty())
      name = list->front().getAsString()->str();
    if (list->size() > 1) {
      reader.error("architectures", "field 'architectures' names " +
                                        Twine(list->size()) +
                                        " classes, expected one");
      return nullptr;
    }
  }
  if (reader.failed())
    return nullptr;
  if (name.empty() && modelType.empty()) {
    reader.error("model_type", "neither 'architectures' nor 'model_type' says "
                               "what the model is; known model types: " +
                                   known);
    return nullptr;
  }

  const ClassDefaults *found = nullptr;
  for (const ClassDefaults &entry : kClasses)
    if (name.empty() ? modelType == entry.modelType : name == entry.causalClass)
      found = &entry;
  if (!found) {
    if (name.empty())
      reader.error("model_type", "model type '" + modelType +
                                     "' is not supported; known: " + known);
    else
      reader.error("architectures",
                   "architecture '" + name + "'" +
                       (modelType.empty()
                            ? std::string()
                            : " of model type '" + modelType + "'") +
                       " is not supported; known are the causal language "
                       "models of the types " +
                       known);
    return nullptr;
  }
  if (!modelType.empty() && modelType != found->modelType) {
    reader.error("architectures", "architecture '" + name +
                                      "' does not belong to model type '" +
                                      modelType + "'; correct one of them");
    return nullptr;
  }
  return found;
}

static void readActivation(ConfigReader &reader, StringRef field,
                           StringRef missing, ModelConfig &config) {
  std::string name = reader.string(field, missing);
  auto found = llvm::StringSwitch<std::optional<Activation>>(name)
                   .Cases({"silu", "swish"}, Activation::SiLU)
                   .Cases({"gelu", "gelu_python"}, Activation::GELU)
                   .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh",
                           "gelu_fast", "gelu_accurate"},
                          Activation::GELUTanh)
                   .Case("quick_gelu", Activation::QuickGELU)
                   .Case("relu", Activation::ReLU)
                   .Case("sigmoid", Activation::Sigmoid)
                   .Case("tanh", Activation::Tanh)
                   .Default(std::nullopt);
  if (!found)
    return reader.error(
        field, "field '" + field + "' names the activation '" + name +
                   "', which is not supported; known: silu, swish, gelu, "
                   "gelu_new, gelu_pytorch_tanh, gelu_fast, gelu_accurate, "
                   "quick_gelu, relu, sigmoid, tanh");
  config.activation = *found;
}

static void readDropout(ConfigReader &reader, StringRef field, double missing,
                        ModelConfig &config) {
  double p = reader.isNull(field) ? 0.0 : reader.number(field, missing);
  if (p < 0.0 || p > 1.0)
    reader.error(field, "field '" + field + "' is not a probability");
  if (p > 0.0)
    config.dropout += (config.dropout.empty() ? "" : ", ") + field.str() + " " +
                      quoteValue(llvm::json::Value(p));
}

static void readNormEpsilon(ConfigReader &reader, StringRef field,
                            double missing, ModelConfig &config) {
  config.normEpsilon = reader.number(field, missing);
  if (config.normEpsilon < 0.0)
    reader.error(field, "field '" + field + "' is negative");
}

/// A size that every file gives. The library has a default for it, but a file
/// without it is rather a broken one.
static int64_t readSize(ConfigReader &reader, StringRef field,
                        int64_t libraryDefault, StringRef modelType) {
  if (!reader.fields().get(field))
    reader.error(field, "field '" + field +
                            "' is missing; the model library's "
                            "default for " +
                            modelType + " is " + Twine(libraryDefault) +
                            ": write it if it is meant");
  return reader.integer(field, libraryDefault);
}

/// Fields that a class of the library ignores although others read them:
/// another value than the one that the class computes with is refused.
static void expectBoolean(ConfigReader &reader, StringRef field, bool fixed,
                          StringRef modelType) {
  if (reader.has(field) && reader.boolean(field, fixed) != fixed)
    reader.error(field, "field '" + field + "' is " +
                            (fixed ? "false" : "true") + ", but " + modelType +
                            " models of the model library always have " +
                            (fixed ? "" : "no ") +
                            "such biases; remove the field to get those");
}

//===----------------------------------------------------------------------===//
// Model types
//===----------------------------------------------------------------------===//

static void readHeads(ConfigReader &reader, const ClassDefaults &defaults,
                      ModelConfig &config) {
  int64_t missing =
      defaults.keyValueHeads ? defaults.keyValueHeads : config.heads;
  config.keyValueHeads =
      reader.integerOrNull("num_key_value_heads", missing, config.heads);
  if (config.heads % config.keyValueHeads)
    return reader.error(
        "num_key_value_heads",
        "field 'num_key_value_heads' is " + Twine(config.keyValueHeads) +
            (reader.has("num_key_value_heads") ? "" : " by default") +
            ", which does not divide the " + Twine(config.heads) +
            " attention heads");

  if (defaults.headDimension && reader.isNull("head_dim"))
    return reader.error("head_dim", "field 'head_dim' is null, but " +
                                        defaults.modelType +
                                        " models need a number; without the "
                                        "field it is " +
                                        Twine(defaults.headDimension));
  bool given = reader.has("head_dim");
  if (!given && !defaults.headDimension && config.hidden % config.heads)
    return reader.error("num_attention_heads",
                        Twine(config.heads) +
                            " attention heads do not divide the hidden size " +
                            Twine(config.hidden) + "; give 'head_dim'");
  config.headDimension =
      given ? reader.integer("head_dim", 0)
            : (defaults.headDimension ? defaults.headDimension
                                      : config.hidden / config.heads);
  if (config.headDimension % 2)
    reader.error(given ? "head_dim" : "hidden_size",
                 "heads of " + Twine(config.headDimension) +
                     " elements cannot be rotated: 'head_dim' must be even");
}

/// llama, qwen2, qwen3, mistral.
static void readRotaryModel(ConfigReader &reader, const ClassDefaults &defaults,
                            StringRef text, ModelConfig &config) {
  StringRef type = defaults.modelType;
  config.hidden = readSize(reader, "hidden_size", defaults.hidden, type);
  config.intermediate =
      readSize(reader, "intermediate_size", defaults.intermediate, type);
  config.layers = readSize(reader, "num_hidden_layers", defaults.layers, type);
  config.heads = readSize(reader, "num_attention_heads", defaults.heads, type);
  config.maxPositions =
      reader.integer("max_position_embeddings", defaults.maxPositions);
  if (config.layers > kMostLayers)
    return reader.error("num_hidden_layers",
                        "field 'num_hidden_layers' is " + Twine(config.layers) +
                            ", more than " + Twine(kMostLayers));
  readHeads(reader, defaults, config);
  readActivation(reader, "hidden_act", defaults.activation, config);
  readNormEpsilon(reader, "rms_norm_eps", defaults.normEpsilon, config);
  readDropout(reader, "attention_dropout", 0.0, config);
  if (reader.failed())
    return;

  switch (config.architecture) {
  case Architecture::Llama:
    config.queryKeyValueBias = config.attentionOutputBias =
        reader.boolean("attention_bias", false);
    config.mlpBias = reader.boolean("mlp_bias", false);
    config.windows.assign(config.layers, 0);
    refuseWindows(reader, config);
    break;
  case Architecture::Qwen2:
    config.queryKeyValueBias = true;
    expectBoolean(reader, "attention_bias", true, type);
    expectBoolean(reader, "mlp_bias", false, type);
    readWindowsOfQwen(reader, config);
    break;
  case Architecture::Qwen3:
    config.queryKeyValueBias = config.attentionOutputBias =
        reader.boolean("attention_bias", false);
    config.queryKeyNorm = true;
    expectBoolean(reader, "mlp_bias", false, type);
    readWindowsOfQwen(reader, config);
    break;
  case Architecture::Mistral:
    expectBoolean(reader, "attention_bias", false, type);
    expectBoolean(reader, "mlp_bias", false, type);
    readWindowsOfMistral(reader, config);
    break;
  case Architecture::GPT2:
    break;
  }

  // torch.nn.Embedding counts a negative index from the end.
  if (reader.has("pad_token_id")) {
    int64_t index = reader.integer("pad_token_id", 0, -config.vocabulary);
    if (index >= config.vocabulary)
      return reader.error("pad_token_id", "field 'pad_token_id' is " +
                                              Twine(index) +
                                              ", beyond the vocabulary of " +
                                              Twine(config.vocabulary));
    config.paddingIndex = index < 0 ? index + config.vocabulary : index;
  }
  readRotary(reader, text, config);
}

/// A field of gpt2 that may also have the name that other models use.
static int64_t readAlias(ConfigReader &reader, StringRef name, StringRef alias,
                         int64_t missing) {
  if (!reader.has(alias))
    return readSize(reader, name, missing, "gpt2");
  int64_t value = reader.integer(alias, missing);
  if (reader.has(name) && reader.integer(name, value) != value)
    reader.error(name, "fields '" + name + "' and '" + alias +
                           "' are two names of one size, but differ");
  return value;
}

static void readGPT2(ConfigReader &reader, const ClassDefaults &defaults,
                     ModelConfig &config) {
  config.hidden = readAlias(reader, "n_embd", "hidden_size", defaults.hidden);
  config.layers =
      readAlias(reader, "n_layer", "num_hidden_layers", defaults.layers);
  config.heads =
      readAlias(reader, "n_head", "num_attention_heads", defaults.heads);
  config.maxPositions = readAlias(
      reader, "n_positions", "max_position_embeddings", defaults.maxPositions);
  if (config.layers > kMostLayers)
    return reader.error("n_layer", "field 'n_layer' is " +
                                       Twine(config.layers) + ", more than " +
                                       Twine(kMostLayers));
  config.intermediate =
      reader.integerOrNull("n_inner", 4 * config.hidden, 4 * config.hidden);
  config.keyValueHeads = config.heads;
  if (config.hidden % config.heads)
    return reader.error("n_head", Twine(config.heads) +
                                      " attention heads do not divide the "
                                      "hidden size " +
                                      Twine(config.hidden));
  config.headDimension = config.hidden / config.heads;
  for (StringRef field :
       {"head_dim", "num_key_value_heads", "intermediate_size"})
    if (reader.has(field))
      reader.error(field, "field '" + field +
                              "' is set, but gpt2 models of the model library "
                              "ignore it; remove the field");
  readActivation(reader, "activation_function", defaults.activation, config);
  readNormEpsilon(reader, "layer_norm_epsilon", defaults.normEpsilon, config);
  config.queryKeyValueBias = config.attentionOutputBias = config.mlpBias = true;
  config.scaleAttention = reader.boolean("scale_attn_weights", true);
  config.scaleByInverseLayer =
      reader.boolean("scale_attn_by_inverse_layer_idx", false);
  for (StringRef field : {"attn_pdrop", "embd_pdrop", "resid_pdrop"})
    readDropout(reader, field, 0.1, config);
  // This class has no padding row.
  reader.markRead("pad_token_id");
  config.windows.assign(config.layers, 0);
  refuseWindows(reader, config);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Fields that nothing has read: refused, harmless, or a warning. Sorted, so
/// that messages do not depend on hashing.
static void checkOtherFields(ConfigReader &reader, StringRef modelType,
                             bool refuse) {
  std::vector<StringRef> names;
  for (auto &field : reader.fields())
    names.push_back(field.first);
  llvm::sort(names);
  unsigned unknown = 0;
  for (StringRef name : names) {
    const llvm::json::Value &value = *reader.fields().get(name);
    const char *what = foreignComputation(name);
    if (refuse && what && asksForComputation(name, value)) {
      std::string shown = value.getAsObject() || value.getAsArray()
                              ? std::string()
                              : " (" + quoteValue(value) + ")";
      StringRef wayOut =
          StringRef(what) == "quantized weights"
              ? "use a checkpoint in float32, bfloat16 or float16"
              : "use a model without it";
      return reader.error(name, "field '" + name + "'" + shown +
                                    " is not supported for " + modelType +
                                    ": it asks for " + what + "; " + wayOut);
    }
    if (refuse || what || reader.isRead(name) || isHarmlessField(name) ||
        value.kind() == llvm::json::Value::Null)
      continue;
    if (++unknown <= kMostWarnings)
      reader.warning(name, "field '" + name + "' is not known for " +
                               modelType + " and has no effect");
  }
  if (unknown > kMostWarnings)
    reader.warning("", Twine(unknown - kMostWarnings) +
                           " more fields are not known for " + modelType);
}

FailureOr<ModelConfig> parseHFConfig(MLIRContext *context, StringRef text,
                                     StringRef path) {
  Location start = FileLineColLoc::get(context, path, 1, 1);
  std::string message;
  FailureOr<llvm::json::Object> object = parseJSONObject(text, message);
  if (failed(object)) {
    emitError(start) << "not a JSON object: " << message;
    return failure();
  }

  ConfigReader reader(context, *object, text, path);
  const ClassDefaults *defaults = findClass(reader);
  if (!defaults)
    return failure();
  checkOtherFields(reader, defaults->modelType, /*refuse=*/true);

  ModelConfig config;
  config.architecture = defaults->architecture;
  config.path = path.str();
  config.text = compactJSON(text);
  config.vocabulary =
      readSize(reader, "vocab_size", defaults->vocabulary, defaults->modelType);
  config.tiedEmbeddings =
      reader.boolean("tie_word_embeddings", defaults->tiedEmbeddings);
  if (config.architecture == Architecture::GPT2)
    readGPT2(reader, *defaults, config);
  else
    readRotaryModel(reader, *defaults, text, config);
  checkOtherFields(reader, defaults->modelType, /*refuse=*/false);
  if (reader.failed())
    return failure();
  config.warnings = reader.takeWarnings();
  return config;
}

FailureOr<ModelConfig> readHFConfig(MLIRContext *context, StringRef path) {
  Location location = FileLineColLoc::get(context, path, 1, 1);
  uint64_t size = 0;
  if (std::error_code error = llvm::sys::fs::file_size(path, size)) {
    emitError(location) << "cannot read the configuration: " << error.message();
    return failure();
  }
  if (size > kLargestConfig) {
    emitError(location) << "the configuration has " << size
                        << " bytes, more than " << kLargestConfig;
    return failure();
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    emitError(location) << "cannot read the configuration: "
                        << buffer.getError().message();
    return failure();
  }
  return parseHFConfig(context, (*buffer)->getBuffer(), path);
}

} // namespace pipemesh
