//===- ReshardSpace.cpp - what the reshard search goes through ------------===//

#include "ReshardSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <tuple>

using namespace pipemesh;
using namespace pipemesh::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

/// With more axes than this only lists are tried that begin like the source's
/// or the target's.
static constexpr size_t kMostFreeAxes = 4, kFewAxes = 3;

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

bool reshard::hasEmptyBlock(const Problem &problem) {
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
