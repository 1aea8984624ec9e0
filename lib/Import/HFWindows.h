//===- HFWindows.h - The sliding windows of a config.json -----------------===//

#ifndef PIPEMESH_LIB_IMPORT_HFWINDOWS_H
#define PIPEMESH_LIB_IMPORT_HFWINDOWS_H

#include "ConfigReader.h"
#include "pipemesh/Import/ModelConfig.h"

namespace pipemesh {

/// qwen2 and qwen3: `use_sliding_window`, and the layers by `layer_types` or
/// from `max_window_layers` on.
void readWindowsOfQwen(ConfigReader &reader, ModelConfig &config);

/// mistral: one window for all layers.
void readWindowsOfMistral(ConfigReader &reader, ModelConfig &config);

/// llama and gpt2 attend to all positions, whatever these fields say: a value
/// that asks for a window is an error.
void refuseWindows(ConfigReader &reader, const ModelConfig &config);

} // namespace pipemesh

#endif // PIPEMESH_LIB_IMPORT_HFWINDOWS_H
