//===- HFWindows.cpp - The sliding windows of a config.json ---------------===//

#include "HFWindows.h"

using namespace mlir;

namespace pipemesh {

/// The library's default of `sliding_window`.
static constexpr int64_t kDefaultWindow = 4096;

/// `layer_types` as booleans (true: a sliding window), or nullopt when it is
/// missing or null.
static std::optional<std::vector<bool>> readLayerTypes(ConfigReader &reader,
                                                       int64_t layers) {
  if (!reader.has("layer_types"))
    return std::nullopt;
  const llvm::json::Array *list = reader.fields().getArray("layer_types");
  if (!list || static_cast<int64_t>(list->size()) != layers) {
    reader.error("layer_types",
                 list ? "field 'layer_types' has " + Twine(list->size()) +
                            " entries for " + Twine(layers) + " layers"
                      : Twine("field 'layer_types' is not a list"));
    return std::nullopt;
  }
  std::vector<bool> result;
  for (const llvm::json::Value &entry : *list) {
    StringRef name = entry.getAsString().value_or("");
    if (name != "full_attention" && name != "attention" &&
        name != "sliding_attention") {
      reader.error("layer_types",
                   "field 'layer_types' has a layer of type " +
                       quoteValue(entry) +
                       ", which is not supported; known: full_attention, "
                       "sliding_attention");
      return std::nullopt;
    }
    result.push_back(name == "sliding_attention");
  }
  return result;
}

void readWindowsOfQwen(ConfigReader &reader, ModelConfig &config) {
  bool use = reader.boolean("use_sliding_window", false);
  int64_t window =
      reader.integerOrNull("sliding_window", kDefaultWindow, /*null=*/0);
  int64_t firstLayer = reader.integer("max_window_layers", 28, /*least=*/0);
  if (!use)
    window = 0;
  auto types = readLayerTypes(reader, config.layers);
  for (int64_t i = 0; i < config.layers; ++i) {
    bool slides = types ? (*types)[i] : window && i >= firstLayer;
    if (slides && !window)
      return reader.error("layer_types",
                          "field 'layer_types' gives layer " + Twine(i) +
                              " a sliding window, but 'use_sliding_window' is "
                              "false or 'sliding_window' null");
    config.windows.push_back(slides ? window : 0);
  }
}

void readWindowsOfMistral(ConfigReader &reader, ModelConfig &config) {
  int64_t window =
      reader.integerOrNull("sliding_window", kDefaultWindow, /*null=*/0);
  config.windows.assign(config.layers, window);
  // The class gives every layer the same mask.
  if (auto types = readLayerTypes(reader, config.layers))
    for (int64_t i = 0; i < config.layers; ++i)
      if ((*types)[i] != (window != 0))
        return reader.error(
            "layer_types",
            "field 'layer_types' and 'sliding_window' disagree about layer " +
                Twine(i) + "; mistral models have one window for all layers");
}

void refuseWindows(ConfigReader &reader, const ModelConfig &config) {
  StringRef modelType = stringifyArchitecture(config.architecture);
  if (reader.has("sliding_window"))
    reader.error("sliding_window",
                 "field 'sliding_window' is set, but " + modelType +
                     " models of the model library have no sliding windows; "
                     "remove the field to get full attention");
  if (auto types = readLayerTypes(reader, config.layers))
    for (bool slides : *types)
      if (slides)
        return reader.error("layer_types",
                            "field 'layer_types' asks for sliding windows, "
                            "which " +
                                modelType + " models do not have");
}

} // namespace pipemesh
