//===- ReshardPieces.cpp - a reshard in one exchange of pieces ------------===//

#include "ReshardSpace.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace pipemesh;
using namespace pipemesh::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

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
