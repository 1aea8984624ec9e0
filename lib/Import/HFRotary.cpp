//===- HFRotary.cpp - The rotary settings of a config.json ----------------===//
//
// Follows RotaryEmbeddingConfigMixin of the transformers library: a
// `rope_scaling` that is not empty replaces `rope_parameters`; keys inside of
// it win over the same keys at the top; `rope_type` wins over `type`.
//
//===----------------------------------------------------------------------===//

#include "HFRotary.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace pipemesh {

/// A number above zero that must be there.
static double positive(ConfigReader &reader, StringRef name) {
  if (!reader.has(name)) {
    reader.error(name, "field '" + reader.fullName(name) +
                           "' is needed for this type of rotary scaling");
    return 1.0;
  }
  double value = reader.number(name, 1.0);
  if (!(value > 0.0)) {
    reader.error(name,
                 "field '" + reader.fullName(name) + "' must be above zero");
    return 1.0;
  }
  return value;
}

/// Zero and null are "not given", as in the library.
static double orDefault(ConfigReader &reader, StringRef name, double missing) {
  double value = reader.optionalNumber(name).value_or(0.0);
  if (value < 0.0)
    reader.error(name, "field '" + reader.fullName(name) + "' is negative");
  return value == 0.0 ? missing : value;
}

static void readScaling(ConfigReader &reader, ModelConfig &config,
                        std::optional<double> originalAtTop) {
  RotaryConfig &rotary = config.rotary;
  std::string field = reader.fields().get("rope_type") ? "rope_type" : "type";
  std::string type = reader.string(field, "default");
  reader.markRead("type");
  reader.markRead("rope_type");
  auto kind = llvm::StringSwitch<std::optional<RotaryConfig::Kind>>(type)
                  .Case("default", RotaryConfig::Kind::Default)
                  .Case("linear", RotaryConfig::Kind::Linear)
                  .Case("llama3", RotaryConfig::Kind::Llama3)
                  .Case("yarn", RotaryConfig::Kind::Yarn)
                  .Default(std::nullopt);
  if (!kind)
    return reader.error(
        field, "field '" + reader.fullName(field) + "' is '" + type +
                   "', which is not supported; known: default, linear, "
                   "llama3, yarn");
  rotary.kind = *kind;

  if (reader.isNull("rope_theta"))
    return reader.error("rope_theta", "field '" +
                                          reader.fullName("rope_theta") +
                                          "' is null, expected a number");
  rotary.theta = reader.number("rope_theta", rotary.theta);

  if (reader.has("partial_rotary_factor") &&
      reader.number("partial_rotary_factor", 1.0) != 1.0)
    return reader.error("partial_rotary_factor",
                        "field '" + reader.fullName("partial_rotary_factor") +
                            "' is not 1: rotation of a part of each head is "
                            "not supported");

  bool hasOriginal = rotary.kind == RotaryConfig::Kind::Llama3 ||
                     rotary.kind == RotaryConfig::Kind::Yarn;
  if (hasOriginal) {
    // phi3 and others keep the length at the top, where it has priority.
    if (originalAtTop)
      rotary.originalMaxPositions = *originalAtTop;
    else if (reader.fields().get("original_max_position_embeddings"))
      rotary.originalMaxPositions =
          positive(reader, "original_max_position_embeddings");
    else
      rotary.originalMaxPositions = config.maxPositions;
    reader.markRead("original_max_position_embeddings");
  }

  switch (rotary.kind) {
  case RotaryConfig::Kind::Default:
    // `factor` and the like belong to a type that is not asked for.
    break;
  case RotaryConfig::Kind::Linear:
    rotary.factor = positive(reader, "factor");
    break;
  case RotaryConfig::Kind::Llama3:
    rotary.factor = positive(reader, "factor");
    rotary.lowFrequencyFactor = positive(reader, "low_freq_factor");
    rotary.highFrequencyFactor = positive(reader, "high_freq_factor");
    if (rotary.highFrequencyFactor <= rotary.lowFrequencyFactor)
      reader.error("high_freq_factor", "field '" +
                                           reader.fullName("high_freq_factor") +
                                           "' must be above 'low_freq_factor'");
    break;
  case RotaryConfig::Kind::Yarn:
    if (reader.isNull("factor"))
      rotary.factor = config.maxPositions / rotary.originalMaxPositions;
    else
      rotary.factor = positive(reader, "factor");
    rotary.betaFast = orDefault(reader, "beta_fast", 32.0);
    rotary.betaSlow = orDefault(reader, "beta_slow", 1.0);
    if (rotary.betaFast < rotary.betaSlow)
      reader.error("beta_fast", "field '" + reader.fullName("beta_fast") +
                                    "' is below 'beta_slow'");
    rotary.attentionFactor = reader.optionalNumber("attention_factor");
    rotary.mscale = reader.optionalNumber("mscale");
    rotary.mscaleAllDim = reader.optionalNumber("mscale_all_dim");
    rotary.truncate = reader.boolean("truncate", true);
    if (rotary.theta == 1.0)
      reader.error("rope_theta", "yarn scaling needs a 'rope_theta' other "
                                 "than 1");
    break;
  }

  std::vector<StringRef> names;
  for (auto &entry : reader.fields())
    names.push_back(entry.first);
  llvm::sort(names);
  for (StringRef name : names) {
    const llvm::json::Value &value = *reader.fields().get(name);
    if (value.getAsObject())
      return reader.error(name, "field '" + reader.fullName(name) +
                                    "' is an object: rotary settings for each "
                                    "type of layer are not supported");
    if (!reader.isRead(name) && value.kind() != llvm::json::Value::Null)
      reader.warning(name, "field '" + reader.fullName(name) +
                               "' is not used by rotary type '" + type + "'");
  }
}

void readRotary(ConfigReader &reader, StringRef text, ModelConfig &config) {
  if (reader.isNull("rope_theta"))
    return reader.error("rope_theta", "field 'rope_theta' is null, expected a "
                                      "number");
  config.rotary.theta = reader.number("rope_theta", config.rotary.theta);
  std::optional<double> original;
  if (reader.has("original_max_position_embeddings"))
    original = positive(reader, "original_max_position_embeddings");

  static const llvm::json::Object none;
  const llvm::json::Object *object = &none;
  StringRef prefix = "rope_parameters";
  for (StringRef name : {"rope_parameters", "rope_scaling"}) {
    if (!reader.has(name))
      continue;
    const llvm::json::Object *given = reader.fields().getObject(name);
    if (!given)
      return reader.error(name, "field '" + name + "' is " +
                                    quoteValue(*reader.fields().get(name)) +
                                    ", expected an object");
    if (given->empty())
      continue;
    object = given;
    prefix = name;
  }
  if (reader.failed())
    return;

  ConfigReader inner(reader.getContext(), *object, text, config.path, prefix);
  readScaling(inner, config, original);
  if (!inner.failed() && !(config.rotary.theta > 0.0))
    inner.error("rope_theta", "field 'rope_theta' must be above zero");
  if (inner.failed())
    reader.setFailed();
  reader.warnings(inner.takeWarnings());
}

} // namespace pipemesh
