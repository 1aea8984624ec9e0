//===- ReshardSearch.cpp - the search behind findReshard ------------------===//
//
// Dijkstra's search over shardings. For each dimension the ways to cut it are
// enumerated once, with the moves between them; a state is one of these for each
// dimension and the axes that are partial. Axes that lie alike at both ends are
// taken out before, so that few are left: their number, not that of the devices,
// is what the search depends on.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

using namespace pipemesh;
using namespace pipemesh::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

/// A copy of one's own memory is cheap; fewer are better.
static constexpr double kSliceSeconds = 1e-10;
/// With more axes than this only lists are tried that begin like the source's
/// or the target's.
static constexpr size_t kMostFreeAxes = 4, kFewAxes = 3;
/// Where blocks are empty, so many devices are looked at one by one.
static constexpr int64_t kMostDevices = 64;

bool reshard::isNested(int64_t size, int64_t outer, int64_t parts,
                       int64_t block) {
  // Either all pieces fit, or only the first piece has anything.
  return parts * block == outer || (size <= outer && size <= parts * block);
}

llvm::SmallVector<uint8_t, 4> reshard::movedAxes(const Cut &before,
                                                 const Cut &after,
                                                 ArrayRef<Axis> axes) {
  // Axes and the number of blocks that one step along them is.
  auto stridesOf = [&](const Cut &cut) {
    SmallVector<std::pair<uint8_t, int64_t>, 4> strides;
    int64_t stride = 1;
    for (uint8_t axis : llvm::reverse(cut.axes)) {
      strides.push_back({axis, stride});
      stride *= axes[axis].size;
    }
    strides.push_back({~0, stride});
    return strides;
  };
  auto a = stridesOf(before), b = stridesOf(after);
  bool sameRanks = a.back() == b.back();
  a.pop_back();
  b.pop_back();
  SmallVector<uint8_t, 4> moved;
  for (auto [mine, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (auto entry : *mine)
      if ((!sameRanks || !llvm::is_contained(*other, entry)) &&
          !llvm::is_contained(moved, entry.first))
        moved.push_back(entry.first);
  return moved;
}

namespace {
using List = SmallVector<uint8_t, 4>;

uint32_t maskOf(ArrayRef<uint8_t> axes) {
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

Cut toCut(const Option &option) { return {option.axes, option.block}; }

struct Dim {
  unsigned number = 0; ///< in the problem
  int64_t size = 0;
  std::vector<Option> options;
  std::vector<SmallVector<Move, 4>> longer, shorter;
  /// Where the last blocks are empty, a rank may have what it needs although
  /// the axes are in another order.
  std::vector<SmallVector<uint16_t, 2>> contained;
  /// Options of equal blocks.
  llvm::DenseMap<int64_t, SmallVector<uint16_t, 8>> byBlock;
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

class Search {
public:
  explicit Search(const Problem &problem) : problem(problem) {}
  std::optional<SmallVector<Step, 4>> run();

private:
  void chooseAxes();
  void addDims();
  void addOptions(Dim &dim, const Cut &source, const Cut &target);
  void addMoves(Dim &dim);
  bool isContained(const Dim &dim, const Option &outer,
                   const Option &inner) const;
  int find(const Dim &dim, const Cut &cut) const;
  uint16_t listOf(ArrayRef<uint8_t> axes);
  int64_t ranksOf(ArrayRef<uint8_t> axes) const;
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
  SmallVector<List, 4> frozen;
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
} // namespace

int64_t Search::ranksOf(ArrayRef<uint8_t> axes) const {
  int64_t ranks = 1;
  for (uint8_t axis : axes)
    ranks *= problem.axes[axis].size;
  return ranks;
}

int64_t Search::ranksOf(uint32_t mask) const {
  int64_t ranks = 1;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (mask >> axis & 1)
      ranks *= problem.axes[axis].size;
  return ranks;
}

Link Search::linkOf(uint32_t mask) const {
  std::optional<Link> link;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (mask >> axis & 1)
      link = link ? slowerOf(*link, problem.axes[axis].link)
                  : problem.axes[axis].link;
  return link.value_or(Link());
}

uint16_t Search::listOf(ArrayRef<uint8_t> axes) {
  for (size_t i = 0; i < lists.size(); ++i)
    if (ArrayRef<uint8_t>(lists[i]) == axes)
      return i;
  lists.push_back(List(axes));
  listMasks.push_back(maskOf(axes));
  return lists.size() - 1;
}

//===----------------------------------------------------------------------===//
// What there is to search
//===----------------------------------------------------------------------===//

/// Takes out the leading axes that both ends have alike, and the axes that are
/// partial at both, where there are many.
void Search::chooseAxes() {
  const State &source = problem.source, &target = problem.target;
  uint32_t atEnds = 0, taken = 0;
  // Of few axes all take part: one that stays may lend its link on the way.
  bool hasFew = problem.axes.size() <= kFewAxes;
  frozen.resize(problem.shape.size());
  for (size_t d = 0; d < problem.shape.size(); ++d) {
    ArrayRef<uint8_t> a = source.dims[d].axes, b = target.dims[d].axes;
    for (size_t count = hasFew ? 0 : std::min(a.size(), b.size()); count > 0;
         --count) {
      int64_t ranks = ranksOf(a.take_front(count));
      if (a.take_front(count) != b.take_front(count) ||
          problem.shape[d] % ranks != 0)
        continue;
      int64_t size = problem.shape[d] / ranks;
      auto fits = [&](const Cut &cut) {
        return ranksOf(ArrayRef<uint8_t>(cut.axes).drop_front(count)) *
                   cut.block ==
               size;
      };
      if (!fits(source.dims[d]) || !fits(target.dims[d]))
        continue;
      frozen[d].assign(a.begin(), a.begin() + count);
      taken |= maskOf(frozen[d]);
      break;
    }
    atEnds |= maskOf(a) | maskOf(b);
  }
  if (!hasFew)
    frozenPartial = source.partial & target.partial;
  atEnds = (atEnds | source.partial | target.partial) & ~taken & ~frozenPartial;
  free = atEnds;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (problem.axes[axis].isTemporal)
      temporal |= 1u << axis;
  // Other axes can share the work: the fastest and largest first.
  SmallVector<uint8_t, 4> others;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (!((free | taken | frozenPartial | temporal) >> axis & 1) &&
        problem.axes[axis].size > 1)
      others.push_back(axis);
  llvm::sort(others, [&](uint8_t a, uint8_t b) {
    const Axis &first = problem.axes[a], &second = problem.axes[b];
    return std::tuple(second.link.bandwidth, second.size, a) <
           std::tuple(first.link.bandwidth, first.size, b);
  });
  for (uint8_t axis : others)
    if (size_t(llvm::popcount(free)) < kMostFreeAxes)
      free |= 1u << axis;
}

/// Dimensions that no end cuts are kept as far as there is room: an axis may
/// cut them on the way.
void Search::addDims() {
  const State &source = problem.source, &target = problem.target;
  SmallVector<unsigned, 4> kept, whole;
  for (unsigned d = 0; d < problem.shape.size(); ++d) {
    bool isCut = source.dims[d].axes.size() > frozen[d].size() ||
                 target.dims[d].axes.size() > frozen[d].size() ||
                 source.dims[d].block != target.dims[d].block;
    (isCut ? kept : whole).push_back(d);
  }
  llvm::sort(whole, [&](unsigned a, unsigned b) {
    return std::tuple(-source.dims[a].block, a) <
           std::tuple(-source.dims[b].block, b);
  });
  size_t room = llvm::popcount(free) >= 3 ? 3 : 4;
  for (unsigned d : whole)
    if (kept.size() < room)
      kept.push_back(d);
  llvm::sort(kept);
  restBytes = problem.elementBytes;
  for (unsigned d = 0; d < problem.shape.size(); ++d)
    if (!llvm::is_contained(kept, d))
      restBytes *= source.dims[d].block;
  auto behind = [&](const Cut &cut, unsigned d) {
    Cut rest = cut;
    rest.axes.erase(rest.axes.begin(), rest.axes.begin() + frozen[d].size());
    return rest;
  };
  for (unsigned d : kept) {
    dims.emplace_back();
    dims.back().number = d;
    dims.back().size = problem.shape[d] / ranksOf(frozen[d]);
    addOptions(dims.back(), behind(source.dims[d], d),
               behind(target.dims[d], d));
    addMoves(dims.back());
  }
}

/// Whether some member has nothing of a dimension.
static bool hasEmptyBlock(const Problem &problem) {
  for (const State *end : {&problem.source, &problem.target})
    for (auto [size, cut] : llvm::zip(problem.shape, end->dims)) {
      int64_t ranks = 1;
      for (uint8_t axis : cut.axes)
        ranks *= problem.axes[axis].size;
      if (cut.block * (ranks - 1) >= size && ranks > 1)
        return true;
    }
  return false;
}

void Search::addOptions(Dim &dim, const Cut &source, const Cut &target) {
  bool all = size_t(llvm::popcount(free)) <= kMostFreeAxes;
  auto isPrefixOf = [](ArrayRef<uint8_t> axes, ArrayRef<uint8_t> of) {
    return axes.size() <= of.size() && axes == of.take_front(axes.size());
  };
  auto add = [&](const List &axes) {
    if (!all && !isPrefixOf(axes, source.axes) &&
        !isPrefixOf(axes, target.axes))
      return;
    // A temporal axis comes where the ends have it.
    if ((maskOf(axes) & temporal) && !isPrefixOf(axes, source.axes) &&
        !isPrefixOf(axes, target.axes))
      return;
    int64_t ranks = ranksOf(axes);
    SmallVector<int64_t, 3> blocks;
    auto addBlock = [&](int64_t block) {
      block = std::min(block, dim.size);
      if (block * ranks >= dim.size && !llvm::is_contained(blocks, block))
        blocks.push_back(block);
    };
    if (axes.empty()) {
      addBlock(dim.size);
    } else {
      addBlock(llvm::divideCeil(dim.size, ranks));
      // So that blocks of an end are parts of these, or the other way round.
      for (const Cut *end : {&source, &target}) {
        int64_t elements = ranksOf(end->axes) * end->block;
        if (!end->axes.empty() && elements % ranks == 0)
          addBlock(elements / ranks);
        if (end->axes == axes && !llvm::is_contained(blocks, end->block))
          blocks.push_back(end->block);
      }
      // So that equal blocks of more axes are parts of these.
      for (uint32_t rest = free & ~maskOf(axes), more = rest; more;
           more = (more - 1) & rest) {
        int64_t parts = ranksOf(more);
        addBlock(llvm::divideCeil(dim.size, ranks * parts) * parts);
      }
      // All of it on the first members, where members have nothing anyhow.
      if (hasEmpty)
        for (int64_t block : {dim.size, source.block, target.block})
          addBlock(block);
    }
    for (int64_t block : blocks)
      dim.options.push_back(
          {axes, maskOf(axes), ranks, block, (maskOf(axes) & temporal) != 0});
  };
  // All ordered lists of free axes.
  SmallVector<List> level{List()};
  while (!level.empty()) {
    SmallVector<List> next;
    for (const List &axes : level) {
      add(axes);
      if (!all && !isPrefixOf(axes, source.axes) &&
          !isPrefixOf(axes, target.axes))
        continue;
      for (size_t axis = 0; axis < problem.axes.size(); ++axis)
        if ((free >> axis & 1) && !(maskOf(axes) >> axis & 1)) {
          next.push_back(axes);
          next.back().push_back(axis);
        }
    }
    level = std::move(next);
  }
  for (auto [index, option] : llvm::enumerate(dim.options))
    dim.byBlock[option.block].push_back(index);
}

void Search::addMoves(Dim &dim) {
  size_t count = dim.options.size();
  dim.longer.resize(count);
  dim.shorter.resize(count);
  dim.contained.resize(count);
  if (dim.size > 0)
    for (size_t from = 0; from < count; ++from)
      for (size_t to = 0; to < count; ++to)
        if (from != to && isContained(dim, dim.options[from], dim.options[to]))
          dim.contained[from].push_back(to);
  llvm::DenseMap<uint64_t, SmallVector<uint16_t, 2>> byAxes;
  auto code = [](ArrayRef<uint8_t> axes) {
    uint64_t number = 1;
    for (uint8_t axis : axes)
      number = number * 17 + axis;
    return number;
  };
  for (size_t i = 0; i < count; ++i)
    byAxes[code(dim.options[i].axes)].push_back(i);
  for (size_t to = 0; to < count; ++to) {
    const Option &longer = dim.options[to];
    for (size_t size = 0; size < longer.axes.size(); ++size) {
      ArrayRef<uint8_t> all = longer.axes;
      auto found = byAxes.find(code(all.take_front(size)));
      if (found == byAxes.end())
        continue;
      for (uint16_t from : found->second) {
        const Option &shorter = dim.options[from];
        if (!isNested(dim.size, shorter.block, longer.ranks / shorter.ranks,
                      longer.block))
          continue;
        uint16_t list = listOf(all.drop_front(size));
        dim.longer[from].push_back({uint16_t(to), list});
        dim.shorter[to].push_back({from, list});
      }
    }
  }
}

/// Whether each member of the inner blocks has them already.
bool Search::isContained(const Dim &dim, const Option &outer,
                         const Option &inner) const {
  if ((outer.mask & inner.mask) != outer.mask || inner.hasTemporal ||
      inner.block * (inner.ranks - 1) < dim.size)
    return false;
  for (int64_t number = 0; number * inner.block < dim.size; ++number) {
    int64_t coordinates[32] = {}, rest = number, place = 0;
    for (uint8_t axis : llvm::reverse(inner.axes)) {
      coordinates[axis] = rest % problem.axes[axis].size;
      rest /= problem.axes[axis].size;
    }
    for (uint8_t axis : outer.axes)
      place = place * problem.axes[axis].size + coordinates[axis];
    int64_t begin = number * inner.block,
            end = std::min(begin + inner.block, dim.size);
    if (begin < place * outer.block || end > (place + 1) * outer.block)
      return false;
  }
  return true;
}

int Search::find(const Dim &dim, const Cut &cut) const {
  ArrayRef<uint8_t> axes =
      ArrayRef<uint8_t>(cut.axes).drop_front(frozen[dim.number].size());
  for (auto [index, option] : llvm::enumerate(dim.options))
    if (ArrayRef<uint8_t>(option.axes) == axes && option.block == cut.block)
      return index;
  return -1;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

double Search::bytesOf(const Key &key) const {
  double bytes = restBytes;
  for (auto [dim, index] : llvm::zip(dims, key.dims))
    bytes *= dim.options[index].block;
  return bytes;
}

void Search::offer(int from, StepKind kind, const Key &key, uint32_t axes,
                   double bytes, unsigned dim, unsigned split, uint16_t list,
                   uint32_t members) {
  if (problem.without >> unsigned(kind) & 1)
    return;
  double price = kSliceSeconds;
  if (kind != StepKind::Slice) {
    Link link = linkOf(axes);
    double sent = bytes;
    if (kind == StepKind::AllReduce && link.reduces) {
      int64_t ranks = ranksOf(axes);
      sent = bytes * ranks / (2 * (ranks - 1));
    }
    price = link.latency + sent / link.bandwidth;
  }
  price += nodes[from].price;
  if (price >= bound)
    return;
  if (key == goal)
    bound = price;
  auto [entry, isNew] = reached.try_emplace(key, nodes.size());
  if (!isNew && nodes[entry->second].price <= price)
    return;
  // An older node of the state stays in the queue and is passed over.
  entry->second = nodes.size();
  queue.push({price, int(nodes.size())});
  nodes.push_back({key, price, from, kind, list, members ? members : axes,
                   uint8_t(dim), uint8_t(split), bytes});
}

void Search::expandReductions(int number) {
  const Key key = nodes[number].key;
  uint32_t sums = key.partial & ~temporal;
  double bytes = bytesOf(key);
  for (uint32_t axes = sums; axes; axes = (axes - 1) & sums) {
    Key next = key;
    next.partial &= ~axes;
    int64_t ranks = ranksOf(axes);
    offer(number, StepKind::AllReduce, next, axes,
          2 * bytes * (ranks - 1) / ranks);
  }
}

/// Whether each group of ranks that differ on the axes has in it what its
/// members need, device by device.
bool Search::canPermute(const Key &now, const Key &next, uint32_t axes) const {
  SmallVector<uint8_t, 4> all;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (free >> axis & 1)
      all.push_back(axis);
  int64_t coordinates[32] = {};
  // The number of what a device holds; -1 of nothing.
  auto content = [&](const Key &key) {
    int64_t number = 0;
    for (auto [dim, index] : llvm::zip(dims, key.dims)) {
      const Option &option = dim.options[index];
      int64_t block = 0;
      for (uint8_t axis : option.axes)
        block = block * problem.axes[axis].size + coordinates[axis];
      if (block * option.block >= dim.size)
        return int64_t(-1);
      number = number * kMostDevices * 2 + block;
    }
    for (uint8_t axis : all)
      if (key.partial >> axis & 1)
        number = number * problem.axes[axis].size + coordinates[axis];
    return number;
  };
  std::vector<std::tuple<int64_t, int64_t, int>> spare;
  for (int64_t device = 0; device < ranksOf(free); ++device) {
    int64_t rest = device, group = 0;
    for (uint8_t axis : llvm::reverse(all)) {
      coordinates[axis] = rest % problem.axes[axis].size;
      rest /= problem.axes[axis].size;
      if (!(axes >> axis & 1))
        group = group * problem.axes[axis].size + coordinates[axis];
    }
    if (int64_t has = content(now); has >= 0)
      spare.push_back({group, has, 1});
    if (int64_t needs = content(next); needs >= 0)
      spare.push_back({group, needs, -1});
  }
  llvm::sort(spare);
  for (size_t i = 0; i < spare.size();) {
    int count = 0;
    size_t first = i;
    for (; i < spare.size() && std::get<0>(spare[i]) == std::get<0>(spare[first]) &&
           std::get<1>(spare[i]) == std::get<1>(spare[first]);
         ++i)
      count += std::get<2>(spare[i]);
    if (count < 0)
      return false;
  }
  return true;
}

void Search::permute(int number, unsigned dim, Key next, uint32_t used,
                     int64_t ranks, int64_t least) {
  const Key now = nodes[number].key;
  if (dim == dims.size()) {
    if (ranks < least || next == now)
      return;
    uint32_t axes = now.partial ^ next.partial;
    for (size_t d = 0; d < dims.size(); ++d)
      axes |= maskOf(movedAxes(toCut(dims[d].options[now.dims[d]]),
                               toCut(dims[d].options[next.dims[d]]),
                               problem.axes));
    // Where blocks are empty, some ranks need nothing: fewer axes may do.
    if (hasEmpty && ranksOf(free & ~temporal) <= kMostDevices) {
      uint32_t all = axes;
      for (uint32_t few = (all - 1) & all; few != all; few = (few - 1) & all)
        if (canPermute(now, next, few))
          offer(number, few ? StepKind::Permute : StepKind::Slice, next, few,
                few ? bytesOf(now) : 0, 0, 0, 0, all);
    }
    if (axes)
      offer(number, StepKind::Permute, next, axes, bytesOf(now));
    return;
  }
  const Option &own = dims[dim].options[now.dims[dim]];
  if (own.hasTemporal) {
    permute(number, dim + 1, next, used, ranks * own.ranks, least);
    return;
  }
  for (uint16_t index : dims[dim].byBlock.find(own.block)->second) {
    const Option &option = dims[dim].options[index];
    if ((option.mask & used) || option.hasTemporal)
      continue;
    next.dims[dim] = index;
    permute(number, dim + 1, next, used | option.mask, ranks * option.ranks,
            least);
  }
}

/// Every block of the new state is a block of the old one, so that a rank can
/// get it from one that has it; there are as many of these if the axes that are
/// left over are not more than before.
void Search::expandPermutes(int number) {
  const Key key = nodes[number].key;
  int64_t least = 1;
  uint32_t fixed = 0;
  for (auto [dim, index] : llvm::zip(dims, key.dims)) {
    least *= dim.options[index].ranks;
    if (dim.options[index].hasTemporal)
      fixed |= dim.options[index].mask;
  }
  Key next = key;
  uint32_t sums = key.partial & ~temporal;
  if (!sums) {
    permute(number, 0, next, fixed | key.partial, 1, least);
    return;
  }
  // The parts of a sum may move to other axes, too.
  uint32_t candidates = free & ~temporal;
  for (uint32_t axes = candidates; axes; axes = (axes - 1) & candidates) {
    if (axes != sums && (ranksOf(axes) != ranksOf(sums) || (axes & fixed)))
      continue;
    next.partial = (key.partial & temporal) | axes;
    permute(number, 0, next, fixed | next.partial, 1, least);
  }
}

void Search::expand(int number) {
  const Key key = nodes[number].key;
  uint32_t used = key.partial;
  for (auto [dim, index] : llvm::zip(dims, key.dims))
    used |= dim.options[index].mask;
  double bytes = bytesOf(key);
  uint32_t sums = key.partial & ~temporal;
  for (unsigned d = 0; d < dims.size(); ++d) {
    const Dim &dim = dims[d];
    const Option &own = dim.options[key.dims[d]];
    for (const Move &move : dim.longer[key.dims[d]]) {
      uint32_t axes = listMasks[move.list];
      Key next = key;
      next.dims[d] = move.to;
      if (!(axes & used))
        offer(number, StepKind::Slice, next, axes, 0, d, 0, move.list);
      if ((axes & sums) == axes) {
        next.partial &= ~axes;
        double ranks = ranksOf(axes);
        offer(number, StepKind::ReduceScatter, next, axes,
              (ranks - 1) * bytesOf(next), d, 0, move.list);
      }
    }
    for (uint16_t to : dim.contained[key.dims[d]]) {
      uint32_t axes = dim.options[to].mask & ~own.mask;
      Key next = key;
      next.dims[d] = to;
      if (!(axes & used))
        offer(number, StepKind::Slice, next, axes, 0, d);
    }
    for (const Move &move : dim.shorter[key.dims[d]]) {
      uint32_t axes = listMasks[move.list];
      if (axes & temporal)
        continue;
      double ranks = ranksOf(axes);
      Key next = key;
      next.dims[d] = move.to;
      offer(number, StepKind::AllGather, next, axes, (ranks - 1) * bytes, d, 0,
            move.list);
      for (unsigned s = 0; s < dims.size(); ++s) {
        if (s == d)
          continue;
        for (const Move &other : dims[s].longer[key.dims[s]]) {
          if (other.list != move.list)
            continue;
          Key moved = next;
          moved.dims[s] = other.to;
          double piece = bytesOf(moved) /
                         std::max<double>(dim.options[move.to].block, 1) *
                         own.block;
          offer(number, StepKind::AllToAll, moved, axes, (ranks - 1) * piece, d,
                s, move.list);
        }
      }
    }
  }
  expandReductions(number);
  expandPermutes(number);
}

State Search::toState(const Key &key) const {
  State state = problem.source;
  state.partial = key.partial | frozenPartial;
  for (auto [dim, index] : llvm::zip(dims, key.dims)) {
    const Option &option = dim.options[index];
    Cut &cut = state.dims[dim.number];
    cut.axes = frozen[dim.number];
    cut.axes.append(option.axes.begin(), option.axes.end());
    cut.block = option.block;
  }
  return state;
}

/// All at once: each member gets the pieces that it lacks from the one that has
/// them. Where several have them, other ways share the work.
std::optional<Step> Search::exchange(const Key &from) const {
  if (from.partial != goal.partial ||
      problem.without >> unsigned(StepKind::Exchange) & 1)
    return std::nullopt;
  uint32_t before = 0, all = 0;
  for (auto [dim, a, b] : llvm::zip(dims, from.dims, goal.dims)) {
    const Option &has = dim.options[a], &needs = dim.options[b];
    if (has.hasTemporal || needs.hasTemporal || has.block == 0 ||
        needs.block == 0 || dim.size == 0)
      return std::nullopt;
    before |= has.mask;
    all |= has.mask | needs.mask;
  }
  int64_t members = ranksOf(all);
  if (before != all || members > kMostDevices)
    return std::nullopt;
  auto made = std::make_shared<Pieces>();
  for (const Cut &cut : problem.source.dims)
    made->shape.push_back(cut.block);
  // Pieces of a dimension in a block before, in one after, and in all.
  struct Counts {
    int64_t has, needs, all;
  };
  SmallVector<Counts, 4> counts;
  int64_t rows = 1, places = 1;
  double bytes = restBytes;
  for (auto [dim, a, b] : llvm::zip(dims, from.dims, goal.dims)) {
    int64_t has = dim.options[a].block, needs = dim.options[b].block;
    int64_t piece = std::gcd(has, needs);
    made->shape[dim.number] = piece;
    counts.push_back(
        {has / piece, needs / piece, (dim.size + piece - 1) / piece});
    rows *= has / piece;
    places *= needs / piece;
    bytes *= piece;
  }
  constexpr int64_t mostPlaces = 1 << 12;
  if (members * places > mostPlaces || rows > mostPlaces)
    return std::nullopt;

  SmallVector<uint8_t, 4> axes;
  for (size_t axis = 0; axis < problem.axes.size(); ++axis)
    if (all >> axis & 1)
      axes.push_back(axis);
  auto coordinatesOf = [&](int64_t member, int64_t *coordinates) {
    for (uint8_t axis : llvm::reverse(axes)) {
      coordinates[axis] = member % problem.axes[axis].size;
      member /= problem.axes[axis].size;
    }
  };
  struct Lacking {
    int64_t from, to;
    int32_t row, place;
  };
  std::vector<Lacking> lacking;
  std::vector<int32_t> taken(members * places, -1);
  uint32_t crossed = 0;
  for (int64_t number = 0; number < members * places; ++number) {
    int64_t own[32] = {}, others[32] = {};
    coordinatesOf(number / places, own);
    int64_t rest = number % places, stride = 1, row = 0;
    bool exists = true;
    for (size_t d = dims.size(); d-- > 0;) {
      const Option &before = dims[d].options[from.dims[d]];
      const Option &after = dims[d].options[goal.dims[d]];
      int64_t block = 0;
      for (uint8_t axis : after.axes)
        block = block * problem.axes[axis].size + own[axis];
      int64_t piece = block * counts[d].needs + rest % counts[d].needs;
      rest /= counts[d].needs;
      exists &= piece < counts[d].all;
      int64_t holder = piece / counts[d].has;
      for (uint8_t axis : llvm::reverse(before.axes)) {
        others[axis] = holder % problem.axes[axis].size;
        holder /= problem.axes[axis].size;
      }
      row += piece % counts[d].has * stride;
      stride *= counts[d].has;
    }
    if (!exists)
      continue;
    int64_t holder = 0;
    for (uint8_t axis : axes)
      holder = holder * problem.axes[axis].size + others[axis];
    if (holder == number / places) {
      taken[number] = row;
      continue;
    }
    for (uint8_t axis : axes)
      if (own[axis] != others[axis])
        crossed |= 1u << axis;
    lacking.push_back({holder, number / places, int32_t(row), int32_t(number)});
  }
  if (lacking.empty())
    return std::nullopt;
  ExchangePlan plan(members, rows, std::move(taken));
  for (const Lacking &piece : lacking)
    plan.add(piece.from, piece.to, piece.row, piece.place);
  auto found = plan.find();
  if (!found)
    return std::nullopt;
  made->exchange = std::move(*found);
  bytes *= made->exchange.mostSent;
  Link link = linkOf(crossed);
  Step step{StepKind::Exchange, axes,  0, 0, toState(goal), bytes,
            link.latency + bytes / link.bandwidth, made};
  return step;
}

Step Search::toStep(const Node &node) const {
  Step step{node.kind, {}, 0, 0, toState(node.key), node.bytes,
            node.price - nodes[node.from].price, nullptr};
  if (!dims.empty()) {
    step.dim = dims[node.dim].number;
    step.split = dims[node.split].number;
  }
  if (node.kind == StepKind::AllReduce || node.kind == StepKind::Permute ||
      node.kind == StepKind::Slice) {
    for (size_t axis = 0; axis < problem.axes.size(); ++axis)
      if (node.axes >> axis & 1)
        step.axes.push_back(axis);
  } else {
    step.axes = lists[node.list];
  }
  return step;
}

std::optional<SmallVector<Step, 4>> Search::run() {
  if (problem.source == problem.target)
    return SmallVector<Step, 4>();
  hasEmpty = hasEmptyBlock(problem);
  chooseAxes();
  addDims();
  if (dims.size() > kMostDims)
    return std::nullopt;
  Key start;
  start.partial = problem.source.partial & ~frozenPartial;
  goal.partial = problem.target.partial & ~frozenPartial;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    int from = find(dim, problem.source.dims[dim.number]),
        to = find(dim, problem.target.dims[dim.number]);
    if (from < 0 || to < 0)
      return std::nullopt;
    start.dims[d] = from;
    goal.dims[d] = to;
  }
  nodes.push_back({start, 0, 0});
  reached[start] = 0;
  queue.push({0, 0});
  while (!queue.empty()) {
    auto [price, number] = queue.top();
    queue.pop();
    if (reached.find(nodes[number].key)->second != number)
      continue;
    if (nodes[number].key == goal) {
      SmallVector<Step, 4> steps;
      for (int at = number; at != 0; at = nodes[at].from)
        steps.push_back(toStep(nodes[at]));
      std::reverse(steps.begin(), steps.end());
      // One collective sends no more than what is lacking; a permute before or
      // behind another one brings blocks to where they only pass through.
      double bytes = 0;
      int collectives = 0;
      bool permutes = false;
      for (const Step &step : steps) {
        bytes += step.bytes;
        collectives += step.kind != StepKind::Slice;
        permutes |= step.kind == StepKind::Permute;
      }
      if (permutes && collectives > 1)
        if (auto step = exchange(start))
          if (step->seconds < price && step->bytes < bytes)
            return SmallVector<Step, 4>{std::move(*step)};
      return steps;
    }
    expand(number);
  }
  return std::nullopt;
}

std::optional<SmallVector<Step, 4>> reshard::search(const Problem &problem) {
  return Search(problem).run();
}
