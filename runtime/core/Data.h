//===- Data.h - Token files, cut into batches -----------------------------===//
//
// `.txt`         bytes are tokens
// `.u16`, `.u32` little-endian token ids
//     Both are cut in windows of sequence+1 tokens with stride sequence+1; a
//     step takes the next `batch` windows.
// `.safetensors` `input_ids` and optional `labels` (default: the ids),
//     [steps, batch, sequence] of I32 (or I64); labels of -100 do not count
//
// The step's graph shifts labels by one: position s predicts labels[s+1]. Its
// labels have `labelColumns` columns: `sequence`, where the last position has
// no target, as in the model's own library, or sequence+1, where each has one.
// A window fills either; the stored labels of a `.safetensors` file are padded
// by an uncounted column.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_RUNTIME_CORE_DATA_H
#define PIPEMESH_RUNTIME_CORE_DATA_H

#include "core/Error.h"

#include <memory>

namespace pipemesh::runtime {

inline constexpr int32_t uncountedLabel = -100;

struct Batch {
  std::vector<int32_t> inputIds; ///< [batch, sequence]
  std::vector<int32_t> labels;   ///< [batch, labelColumns]
  int64_t countedTokens = 0;     ///< labels other than -100 that are targets
};

struct BatchShape {
  int64_t batch = 0, sequence = 0, labelColumns = 0, vocabulary = 0;
};

class TokenData {
public:
  virtual ~TokenData() = default;

  /// Number of whole batches.
  virtual int64_t steps() const = 0;

  /// Batch `step`. Throws when an id is outside of the vocabulary, with its
  /// position and value.
  virtual Batch read(int64_t step) const = 0;
};

/// Opens a token file by its suffix.
std::unique_ptr<TokenData> openTokenData(const std::string &path,
                                         const BatchShape &shape);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_DATA_H
