//===- ReshardSearch.cpp - the search behind findReshard ------------------===//
//
// Dijkstra's search over the shardings of ReshardSpace.h.
//
//===----------------------------------------------------------------------===//

#include "ReshardSpace.h"
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
