//===- ReshardSearch.h - the search behind findReshard ----------*- C++ -*-===//
//
// Shardings with axes as numbers, and the cheapest sequence of collectives
// between two of them. Nothing here knows of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_RESHARDSEARCH_H
#define PIPEMESH_LIB_SHARD_RESHARDSEARCH_H

#include "Exchange.h"
#include "pipemesh/Support/Cluster.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <optional>

namespace pipemesh {

enum class StepKind {
  Slice,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Permute,
  Exchange
};

namespace reshard {

struct Axis {
  int64_t size = 1;
  Link link;
  /// Its parts are micro-batches, which no collective can bring together.
  bool isTemporal = false;
};

/// The axes that cut a dimension, as numbers, major to minor, and the elements
/// of a piece: that of the whole dimension where no axis cuts.
struct Cut {
  llvm::SmallVector<uint8_t, 4> axes;
  int64_t block = 0;

  bool operator==(const Cut &other) const {
    return block == other.block && axes == other.axes;
  }
};

struct State {
  llvm::SmallVector<Cut, 4> dims;
  /// A bit for each axis.
  uint32_t partial = 0;

  bool operator==(const State &other) const {
    return partial == other.partial && dims == other.dims;
  }
};

/// Pieces of equal shape of which the blocks before and after an exchange
/// consist; they are its rows, in row-major order.
struct Pieces {
  llvm::SmallVector<int64_t, 4> shape;
  pipemesh::Exchange exchange;
};

struct Step {
  StepKind kind;
  /// Major to minor; of a slice and a permute in no order, of an exchange as
  /// numbered.
  llvm::SmallVector<uint8_t, 4> axes;
  /// The dimension that is cut or joined; of an all-to-all the joined one.
  unsigned dim = 0;
  /// The dimension that an all-to-all cuts.
  unsigned split = 0;
  State after;
  /// Bytes that a rank sends, of padded pieces.
  double bytes = 0;
  double seconds = 0;
  /// Of an exchange.
  std::shared_ptr<const Pieces> pieces;
};

struct Problem {
  llvm::SmallVector<int64_t, 4> shape;
  double elementBytes = 4;
  /// At most 16.
  llvm::SmallVector<Axis, 4> axes;
  State source, target;
  /// Kinds of steps that are not taken, a bit for each.
  uint32_t without = 0;
};

/// Whether pieces of `block` of `parts` members make up each piece of `outer`
/// elements of a dimension of `size`: member j's is what begins at
/// `j * block` in it.
bool isNested(int64_t size, int64_t outer, int64_t parts, int64_t block);

/// The axes over which a permute moves blocks from one cut of a dimension to
/// another: an axis that counts the same blocks in both stays.
llvm::SmallVector<uint8_t, 4> movedAxes(const Cut &before, const Cut &after,
                                        llvm::ArrayRef<Axis> axes);

/// The cheapest steps; none where no sequence of collectives leads there.
std::optional<llvm::SmallVector<Step, 4>> search(const Problem &problem);

} // namespace reshard
} // namespace pipemesh

#endif // PIPEMESH_LIB_SHARD_RESHARDSEARCH_H
