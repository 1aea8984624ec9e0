//===- RotaryFrequencies.h - Angles of rotary position embeddings ---------===//

#ifndef PIPEMESH_IMPORT_ROTARYFREQUENCIES_H
#define PIPEMESH_IMPORT_ROTARYFREQUENCIES_H

#include "pipemesh/Import/ModelConfig.h"
#include <vector>

namespace pipemesh {

/// The angle of pair i at position p is p * inverseFrequencies[i] (radians,
/// one entry for each of the headDimension / 2 pairs); cosines and sines are
/// multiplied by `attentionFactor`. Computed in double.
struct RotaryFrequencies {
  std::vector<double> inverseFrequencies;
  double attentionFactor = 1.0;
};

RotaryFrequencies computeRotaryFrequencies(const RotaryConfig &rotary,
                                           int64_t headDimension);

} // namespace pipemesh

#endif // PIPEMESH_IMPORT_ROTARYFREQUENCIES_H
