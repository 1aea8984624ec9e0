//===- ReshardSpace.h - what the reshard search goes through ----*- C++ -*-===//
//
// For each dimension the ways to cut it, and the moves between them; a state of
// the search is one of these for each dimension and the axes that are partial.
// Axes that lie alike at both ends are taken out before, so that few are left:
// their number, not that of the devices, is what the search depends on.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SHARD_RESHARDSPACE_H
#define PIPEMESH_LIB_SHARD_RESHARDSPACE_H

#include "ReshardSearch.h"
#include "llvm/ADT/DenseMap.h"
#include <limits>
#include <queue>
#include <vector>

namespace pipemesh::reshard {

/// Where blocks are empty, so many devices are looked at one by one.
constexpr int64_t kMostDevices = 64;

using List = llvm::SmallVector<uint8_t, 4>;

inline uint32_t maskOf(llvm::ArrayRef<uint8_t> axes) {
  uint32_t mask = 0;
  for (uint8_t axis : axes)
    mask |= 1u << axis;
  return mask;
}

/// A way to cut a dimension.
struct Option {
  List axes;
  uint32_t mask = 0;
  int64_t ranks = 1, block = 0;
  bool hasTemporal = false;
};

/// Axes that are added behind those of a way, or taken off its end.
struct Move {
  uint16_t to;
  uint16_t list; ///< of `lists`
};

inline Cut toCut(const Option &option) { return {option.axes, option.block}; }

struct Dim {
  unsigned number = 0; ///< in the problem
  int64_t size = 0;
  std::vector<Option> options;
  std::vector<llvm::SmallVector<Move, 4>> longer, shorter;
  /// Where the last blocks are empty, a rank may have what it needs although
  /// the axes are in another order.
  std::vector<llvm::SmallVector<uint16_t, 2>> contained;
  /// Options of equal blocks.
  llvm::DenseMap<int64_t, llvm::SmallVector<uint16_t, 8>> byBlock;
};

constexpr unsigned kMostDims = 8;

struct Key {
  uint16_t dims[kMostDims] = {};
  uint32_t partial = 0;

  bool operator==(const Key &other) const {
    return partial == other.partial &&
           std::equal(std::begin(dims), std::end(dims), other.dims);
  }
};

struct KeyInfo {
  static Key getEmptyKey() {
    Key key;
    key.partial = ~0u;
    return key;
  }
  static Key getTombstoneKey() {
    Key key;
    key.partial = ~0u - 1;
    return key;
  }
  static unsigned getHashValue(const Key &key) {
    uint64_t hash = key.partial;
    for (uint16_t dim : key.dims)
      hash = (hash ^ dim) * 0x9e3779b97f4a7c15ull;
    return hash >> 32;
  }
  static bool isEqual(const Key &a, const Key &b) { return a == b; }
};

/// How a state was reached.
struct Node {
  Key key;
  double price;
  int from;
  StepKind kind = StepKind::Slice;
  uint16_t list = 0;
  uint32_t axes = 0;
  uint8_t dim = 0, split = 0;
  double bytes = 0;
};

/// Whether some member has nothing of a dimension, at either end.
bool hasEmptyBlock(const Problem &problem);

/// The state of one search.
class Search {
public:
  explicit Search(const Problem &problem) : problem(problem) {}
  std::optional<llvm::SmallVector<Step, 4>> run();

private:
  void chooseAxes();
  void addDims();
  void addOptions(Dim &dim, const Cut &source, const Cut &target);
  void addMoves(Dim &dim);
  bool isContained(const Dim &dim, const Option &outer,
                   const Option &inner) const;
  int find(const Dim &dim, const Cut &cut) const;
  uint16_t listOf(llvm::ArrayRef<uint8_t> axes);
  int64_t ranksOf(llvm::ArrayRef<uint8_t> axes) const;
  int64_t ranksOf(uint32_t mask) const;
  Link linkOf(uint32_t mask) const;
  double bytesOf(const Key &key) const;
  /// A step over these axes; `members`, where they are not these, are the ones
  /// that the members of a permute differ on, though no piece crosses the rest.
  void offer(int from, StepKind kind, const Key &key, uint32_t axes,
             double bytes, unsigned dim = 0, unsigned split = 0,
             uint16_t list = 0, uint32_t members = 0);
  void expand(int node);
  void expandReductions(int node);
  void expandPermutes(int node);
  bool canPermute(const Key &now, const Key &next, uint32_t axes) const;
  void permute(int node, unsigned dim, Key next, uint32_t used, int64_t ranks,
               int64_t least);
  std::optional<Step> exchange(const Key &from) const;
  Step toStep(const Node &node) const;
  State toState(const Key &key) const;

  const Problem &problem;
  std::vector<Dim> dims;
  std::vector<List> lists;
  std::vector<uint32_t> listMasks;
  /// Axes that may be moved, and those of them that are temporal.
  uint32_t free = 0, temporal = 0;
  /// Axes that lie alike at both ends and are taken out, for each dimension.
  llvm::SmallVector<List, 4> frozen;
  uint32_t frozenPartial = 0;
  bool hasEmpty = false;
  double restBytes = 1;
  Key goal;
  /// The least price at which the goal was reached.
  double bound = std::numeric_limits<double>::infinity();
  std::vector<Node> nodes;
  llvm::DenseMap<Key, int, KeyInfo> reached;
  using Entry = std::pair<double, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};

} // namespace pipemesh::reshard

#endif // PIPEMESH_LIB_SHARD_RESHARDSPACE_H
