//===- ModelConfig.h - What a model computes, whatever its file said ------===//
//
// The resolved description of a decoder-only language model. A reader of one
// file format (HFConfig.h) fills it in, with every default of that format's
// own library applied, so that what follows needs no knowledge of spellings.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_IMPORT_MODELCONFIG_H
#define PIPEMESH_IMPORT_MODELCONFIG_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipemesh {

enum class Architecture { Llama, Qwen2, Qwen3, Mistral, GPT2 };

/// The elementwise function of the feed-forward block.
enum class Activation { SiLU, GELU, GELUTanh, QuickGELU, ReLU, Sigmoid, Tanh };

/// How the angles of rotary position embeddings are made.
struct RotaryConfig {
  enum class Kind { Default, Linear, Llama3, Yarn };
  Kind kind = Kind::Default;
  /// The base of the geometric sequence of wavelengths.
  double theta = 10000.0;
  /// Linear, Llama3, Yarn: how far the context was stretched.
  double factor = 1.0;
  /// Llama3, Yarn: the length that the model was trained on before.
  double originalMaxPositions = 0.0;
  /// Llama3.
  double lowFrequencyFactor = 1.0, highFrequencyFactor = 4.0;
  /// Yarn.
  double betaFast = 32.0, betaSlow = 1.0;
  std::optional<double> attentionFactor, mscale, mscaleAllDim;
  bool truncate = true;
};

/// Something in the file that has no effect, with its line and column.
struct ConfigWarning {
  unsigned line = 1, column = 1;
  std::string message;
};

struct ModelConfig {
  Architecture architecture = Architecture::Llama;
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t keyValueHeads = 0;
  int64_t headDimension = 0;
  int64_t maxPositions = 0;
  Activation activation = Activation::SiLU;
  double normEpsilon = 1e-6;

  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool mlpBias = false;
  /// A norm over each head of the queries and of the keys, before rotation.
  bool queryKeyNorm = false;
  bool tiedEmbeddings = false;

  /// The token whose embedding gets no gradient from the lookup.
  std::optional<int64_t> paddingIndex;

  /// For each layer how many positions a query sees, itself included; 0 means
  /// all that are not after it.
  std::vector<int64_t> windows;

  RotaryConfig rotary;

  /// Scores are multiplied by 1/sqrt(headDimension), and by 1/(layer+1).
  bool scaleAttention = true;
  bool scaleByInverseLayer = false;

  /// The dropout probabilities above zero, as "attn_pdrop 0.1, ..."; empty if
  /// there are none. The graph has no dropout.
  std::string dropout;

  /// The text of config.json without white space, and where it was read.
  std::string text;
  std::string path;
  std::vector<ConfigWarning> warnings;

  /// Learned positions limit the sequence; rotary ones do not.
  bool hasLearnedPositions() const {
    return architecture == Architecture::GPT2;
  }
};

/// "llama", "qwen2", ...
llvm::StringRef stringifyArchitecture(Architecture architecture);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_MODELCONFIG_H
