//===- RotaryFrequencies.cpp - Angles of rotary position embeddings -------===//
//
// Default: Su et al., RoFormer (2021), section 3.2.2. Linear: Chen et al.,
// Extending Context Window via Positional Interpolation (2023). Yarn: Peng et
// al., YaRN (2023), sections 3.2 to 3.4. Llama3: the scaling of Llama 3.1's
// reference code. All as in transformers' modeling_rope_utils.py.
//
//===----------------------------------------------------------------------===//

#include "pipemesh/Import/RotaryFrequencies.h"
#include <algorithm>
#include <cmath>

namespace pipemesh {

static constexpr double kPi = 3.14159265358979323846;

/// Long wavelengths are divided by the factor, short ones are kept, and those
/// between are interpolated.
static double scaleLlama3(const RotaryConfig &rotary, double frequency) {
  double wavelength = 2.0 * kPi / frequency;
  if (wavelength < rotary.originalMaxPositions / rotary.highFrequencyFactor)
    return frequency;
  if (wavelength > rotary.originalMaxPositions / rotary.lowFrequencyFactor)
    return frequency / rotary.factor;
  double smooth =
      (rotary.originalMaxPositions / wavelength - rotary.lowFrequencyFactor) /
      (rotary.highFrequencyFactor - rotary.lowFrequencyFactor);
  return (1.0 - smooth) * frequency / rotary.factor + smooth * frequency;
}

/// The pair whose wavelength makes `rotations` turns over the original length.
static double yarnDimension(const RotaryConfig &rotary, double rotations,
                            double dimension) {
  return dimension *
         std::log(rotary.originalMaxPositions / (rotations * 2.0 * kPi)) /
         (2.0 * std::log(rotary.theta));
}

static void scaleYarn(const RotaryConfig &rotary, int64_t headDimension,
                      std::vector<double> &frequencies) {
  double low = yarnDimension(rotary, rotary.betaFast, headDimension);
  double high = yarnDimension(rotary, rotary.betaSlow, headDimension);
  if (rotary.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(headDimension - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double ramp =
        std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] =
        frequencies[i] / rotary.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

static double yarnAttentionFactor(const RotaryConfig &rotary) {
  if (rotary.attentionFactor)
    return *rotary.attentionFactor;
  auto scale = [&](double weight) {
    return rotary.factor <= 1.0 ? 1.0
                                : 0.1 * weight * std::log(rotary.factor) + 1.0;
  };
  double mscale = rotary.mscale.value_or(0.0);
  double mscaleAllDim = rotary.mscaleAllDim.value_or(0.0);
  if (mscale != 0.0 && mscaleAllDim != 0.0)
    return scale(mscale) / scale(mscaleAllDim);
  return scale(1.0);
}

RotaryFrequencies computeRotaryFrequencies(const RotaryConfig &rotary,
                                           int64_t headDimension) {
  RotaryFrequencies result;
  for (int64_t i = 0; i < headDimension / 2; ++i)
    result.inverseFrequencies.push_back(
        1.0 / std::pow(rotary.theta, 2.0 * i / headDimension));
  std::vector<double> &frequencies = result.inverseFrequencies;
  switch (rotary.kind) {
  case RotaryConfig::Kind::Default:
    break;
  case RotaryConfig::Kind::Linear:
    for (double &frequency : frequencies)
      frequency /= rotary.factor;
    break;
  case RotaryConfig::Kind::Llama3:
    for (double &frequency : frequencies)
      frequency = scaleLlama3(rotary, frequency);
    break;
  case RotaryConfig::Kind::Yarn:
    scaleYarn(rotary, headDimension, frequencies);
    result.attentionFactor = yarnAttentionFactor(rotary);
    break;
  }
  return result;
}

} // namespace pipemesh
