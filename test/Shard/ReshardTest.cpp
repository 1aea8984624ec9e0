//===- ReshardTest.cpp - reshards against an exhaustive search ------------===//
//
// Every pair of shardings of small tensors on small meshes. The price of what
// the search finds is compared with the least one over all sequences of at most
// four collectives, with slices between them. These are found here by their
// meaning: which elements each device holds before and after, device by device.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Shard/ReshardSearch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace pipemesh;

namespace {

using Numbers = std::vector<int64_t>;

/// A sharding, in the words of this test.
struct Layout {
  std::vector<std::vector<int>> cuts; ///< axes of each dimension
  Numbers blocks;                     ///< elements of a piece
  std::set<int> partial;

  bool operator<(const Layout &other) const {
    return std::tie(cuts, blocks, partial) <
           std::tie(other.cuts, other.blocks, other.partial);
  }
};

/// What one device holds of one dimension.
struct Range {
  int64_t begin, end;
};

struct World {
  Numbers mesh, shape;
  std::vector<Link> links;
  /// How much longer a block may be than the ceiling of the division, on the
  /// way and at the ends.
  int64_t slack = 0, slackOfEnds = 0;

  int devices() const {
    return std::accumulate(mesh.begin(), mesh.end(), 1, std::multiplies<>());
  }
  int coordinate(int device, int axis) const {
    for (int inner = int(mesh.size()) - 1; inner > axis; --inner)
      device /= mesh[inner];
    return device % mesh[axis];
  }
  int64_t index(int device, const std::vector<int> &axes) const {
    int64_t number = 0;
    for (int axis : axes)
      number = number * mesh[axis] + coordinate(device, axis);
    return number;
  }
  int64_t product(const std::vector<int> &axes) const {
    int64_t ranks = 1;
    for (int axis : axes)
      ranks *= mesh[axis];
    return ranks;
  }
  Range range(const Layout &layout, int device, size_t dim) const {
    int64_t begin = index(device, layout.cuts[dim]) * layout.blocks[dim];
    return {std::min(begin, shape[dim]),
            std::min(begin + layout.blocks[dim], shape[dim])};
  }
  double bytes(const Layout &layout) const {
    double count = 4;
    for (int64_t block : layout.blocks)
      count *= double(block);
    return count;
  }
  double seconds(const std::vector<int> &axes, double bytes) const {
    double bandwidth = INFINITY, latency = 0;
    for (int axis : axes) {
      bandwidth = std::min(bandwidth, links[axis].bandwidth);
      latency = std::max(latency, links[axis].latency);
    }
    return latency + bytes / bandwidth;
  }
};

/// All ordered choices of axes out of those that `used` lacks.
void orderedLists(const World &world, std::set<int> used,
                  std::vector<int> begun,
                  const std::function<void(const std::vector<int> &)> &found) {
  found(begun);
  for (int axis = 0; axis < int(world.mesh.size()); ++axis)
    if (!used.count(axis)) {
      std::set<int> more = used;
      more.insert(axis);
      std::vector<int> longer = begun;
      longer.push_back(axis);
      orderedLists(world, more, longer, found);
    }
}

void addLayouts(const World &world, Layout begun, std::set<int> used,
                int64_t slack, std::set<Layout> &all) {
  size_t dim = begun.cuts.size();
  if (dim == world.shape.size()) {
    std::vector<int> rest;
    for (int axis = 0; axis < int(world.mesh.size()); ++axis)
      if (!used.count(axis))
        rest.push_back(axis);
    for (unsigned mask = 0; mask < 1u << rest.size(); ++mask) {
      begun.partial.clear();
      for (size_t i = 0; i < rest.size(); ++i)
        if (mask >> i & 1)
          begun.partial.insert(rest[i]);
      all.insert(begun);
    }
    return;
  }
  orderedLists(world, used, {}, [&](const std::vector<int> &axes) {
    int64_t size = world.shape[dim], ranks = world.product(axes);
    int64_t least = (size + ranks - 1) / ranks;
    for (int64_t block = least;
         block <= (ranks > 1 ? std::min(size, least + slack) : least);
         ++block) {
      Layout next = begun;
      next.cuts.push_back(axes);
      next.blocks.push_back(block);
      std::set<int> more = used;
      more.insert(axes.begin(), axes.end());
      addLayouts(world, next, more, slack, all);
    }
  });
}

/// The axes behind `shorter` in `longer`, none where it does not begin so.
std::vector<int> behind(const std::vector<int> &longer,
                        const std::vector<int> &shorter) {
  if (longer.size() <= shorter.size() ||
      !std::equal(shorter.begin(), shorter.end(), longer.begin()))
    return {};
  return {longer.begin() + int64_t(shorter.size()), longer.end()};
}

/// Whether the blocks of the members of `axes` within each piece of `whole` are
/// what `cut` holds, in both directions.
bool areBlocks(const World &world, const Layout &whole, const Layout &cut,
               size_t dim, const std::vector<int> &axes) {
  int64_t covered = world.product(axes) * cut.blocks[dim];
  for (int device = 0; device < world.devices(); ++device) {
    Range outer = world.range(whole, device, dim),
          inner = world.range(cut, device, dim);
    int64_t start = outer.begin + world.index(device, axes) * cut.blocks[dim];
    // What lies in the whole at the block's place, clipped to its elements.
    Range expected{std::min(start, outer.end),
                   std::min(start + cut.blocks[dim], outer.end)};
    bool isEmpty = expected.begin >= expected.end;
    if (isEmpty ? inner.begin < inner.end
                : inner.begin != expected.begin || inner.end != expected.end)
      return false;
    if (outer.begin + covered < outer.end)
      return false;
  }
  return true;
}

bool sameExcept(const Layout &a, const Layout &b, std::set<size_t> dims) {
  for (size_t dim = 0; dim < a.cuts.size(); ++dim)
    if (!dims.count(dim) &&
        (a.cuts[dim] != b.cuts[dim] || a.blocks[dim] != b.blocks[dim]))
      return false;
  return true;
}

std::vector<int> difference(const std::set<int> &a, const std::set<int> &b) {
  std::vector<int> rest;
  for (int axis : a)
    if (!b.count(axis))
      rest.push_back(axis);
  return rest;
}

/// Whether every device has what it needs: along each dimension by itself, or,
/// where pieces are of the same size, of what exists.
bool isSlice(const World &world, const Layout &from, const Layout &to) {
  if (from.partial != to.partial)
    return false;
  for (int device = 0; device < world.devices(); ++device) {
    bool isEmpty = false, isInside = true;
    for (size_t dim = 0; dim < world.shape.size(); ++dim) {
      Range before = world.range(from, device, dim),
            after = world.range(to, device, dim);
      bool isEmptyDim = after.begin >= after.end;
      isEmpty |= isEmptyDim;
      isInside &= isEmptyDim ||
                  (after.begin >= before.begin && after.end <= before.end);
    }
    if (!isInside && !(isEmpty && from.blocks == to.blocks))
      return false;
  }
  return true;
}

/// The cheapest permutation, by the axes over which it runs.
double permuteSeconds(const World &world, const Layout &from,
                      const Layout &to) {
  double best = INFINITY;
  if (from.blocks != to.blocks)
    return best;
  std::vector<int> before(from.partial.begin(), from.partial.end()),
      after(to.partial.begin(), to.partial.end());
  if (world.product(before) != world.product(after))
    return best;
  auto content = [&](const Layout &layout, const std::vector<int> &partial,
                     int device) {
    Numbers key{world.index(device, partial)};
    for (size_t dim = 0; dim < world.shape.size(); ++dim) {
      Range range = world.range(layout, device, dim);
      if (range.begin >= range.end && world.shape[dim] > 0)
        return Numbers();
      key.push_back(range.begin);
      key.push_back(range.end);
    }
    return key;
  };
  for (unsigned mask = 1; mask < 1u << world.mesh.size(); ++mask) {
    std::vector<int> axes, others;
    for (int axis = 0; axis < int(world.mesh.size()); ++axis)
      (mask >> axis & 1 ? axes : others).push_back(axis);
    double price = world.seconds(axes, world.bytes(from));
    if (price >= best)
      continue;
    // In each group, as many must have a content as need it.
    std::map<std::pair<int64_t, Numbers>, int> spare;
    for (int device = 0; device < world.devices(); ++device) {
      int64_t group = world.index(device, others);
      Numbers has = content(from, before, device),
              needs = content(to, after, device);
      if (!has.empty())
        ++spare[{group, has}];
      if (!needs.empty())
        --spare[{group, needs}];
    }
    if (std::all_of(spare.begin(), spare.end(),
                    [](const auto &entry) { return entry.second >= 0; }))
      best = price;
  }
  return best;
}

/// The price of one collective between the two; infinite where none does it.
double collectiveSeconds(const World &world, const Layout &from,
                         const Layout &to) {
  double best = permuteSeconds(world, from, to);
  auto offer = [&](const std::vector<int> &axes, double bytes) {
    best = std::min(best, world.seconds(axes, bytes));
  };
  std::vector<int> summed = difference(from.partial, to.partial);
  if (!difference(to.partial, from.partial).empty())
    return best;
  double own = world.bytes(from);
  if (!summed.empty()) {
    double ranks = double(world.product(summed));
    if (sameExcept(from, to, {}))
      offer(summed, 2 * own * (ranks - 1) / ranks);
    for (size_t dim = 0; dim < from.cuts.size(); ++dim) {
      std::vector<int> axes = behind(to.cuts[dim], from.cuts[dim]);
      if (std::set<int>(axes.begin(), axes.end()) ==
              std::set<int>(summed.begin(), summed.end()) &&
          sameExcept(from, to, {dim}) && areBlocks(world, from, to, dim, axes))
        offer(axes, world.bytes(to) * (ranks - 1));
    }
    return best;
  }
  for (size_t dim = 0; dim < from.cuts.size(); ++dim) {
    std::vector<int> axes = behind(from.cuts[dim], to.cuts[dim]);
    if (axes.empty() || !areBlocks(world, to, from, dim, axes))
      continue;
    double ranks = double(world.product(axes));
    if (sameExcept(from, to, {dim}))
      offer(axes, own * (ranks - 1));
    for (size_t split = 0; split < from.cuts.size(); ++split)
      if (split != dim && sameExcept(from, to, {dim, split}) &&
          behind(to.cuts[split], from.cuts[split]) == axes &&
          areBlocks(world, from, to, split, axes)) {
        // One piece goes to each other member.
        double piece = 4;
        for (size_t d = 0; d < from.cuts.size(); ++d)
          piece *= double(d == split ? to.blocks[d] : from.blocks[d]);
        offer(axes, piece * (ranks - 1));
      }
  }
  return best;
}

/// The price of getting all that a device lacks from the only one that has it, in
/// pieces of which the blocks of both layouts consist; infinite where several
/// devices have it.
double exchangeSeconds(const World &world, const Layout &from,
                       const Layout &to) {
  if (from.partial != to.partial)
    return INFINITY;
  Numbers piece;
  double bytes = 4;
  for (size_t dim = 0; dim < world.shape.size(); ++dim) {
    piece.push_back(std::gcd(from.blocks[dim], to.blocks[dim]));
    bytes *= double(piece.back());
  }
  // Devices that differ on axes that cut nothing have enough among themselves, and
  // so have those that have different parts of a sum.
  std::vector<int> others;
  for (int axis = 0; axis < int(world.mesh.size()); ++axis) {
    bool cuts = false;
    for (const Layout *layout : {&from, &to})
      for (const std::vector<int> &axes : layout->cuts)
        cuts |= std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!cuts)
      others.push_back(axis);
  }
  // A piece by where it begins.
  auto piecesOf = [&](const Layout &layout, int device) {
    std::vector<Numbers> all{{world.index(device, others)}};
    for (size_t dim = 0; dim < world.shape.size(); ++dim) {
      std::vector<Numbers> longer;
      Range range = world.range(layout, device, dim);
      for (const Numbers &begun : all)
        for (int64_t at = range.begin; at < range.end; at += piece[dim]) {
          longer.push_back(begun);
          longer.back().push_back(at);
        }
      all = std::move(longer);
    }
    return all;
  };
  std::map<Numbers, int> owners;
  for (int device = 0; device < world.devices(); ++device)
    for (const Numbers &own : piecesOf(from, device))
      if (!owners.try_emplace(own, device).second)
        return INFINITY;
  std::map<int, int64_t> sent;
  std::set<int> crossed;
  int64_t most = 0;
  for (int device = 0; device < world.devices(); ++device)
    for (const Numbers &needed : piecesOf(to, device)) {
      int owner = owners.at(needed);
      if (owner == device)
        continue;
      most = std::max(most, ++sent[owner]);
      for (int axis = 0; axis < int(world.mesh.size()); ++axis)
        if (world.coordinate(owner, axis) != world.coordinate(device, axis))
          crossed.insert(axis);
    }
  if (most == 0)
    return INFINITY;
  return world.seconds({crossed.begin(), crossed.end()}, double(most) * bytes);
}

reshard::State toState(const Layout &layout) {
  reshard::State state;
  for (size_t dim = 0; dim < layout.cuts.size(); ++dim) {
    state.dims.emplace_back();
    for (int axis : layout.cuts[dim])
      state.dims.back().axes.push_back(uint8_t(axis));
    state.dims.back().block = layout.blocks[dim];
  }
  for (int axis : layout.partial)
    state.partial |= 1u << axis;
  return state;
}

Layout toLayout(const reshard::State &state, const World &world) {
  Layout layout;
  for (const reshard::Cut &cut : state.dims) {
    layout.cuts.emplace_back(cut.axes.begin(), cut.axes.end());
    layout.blocks.push_back(cut.block);
  }
  for (int axis = 0; axis < int(world.mesh.size()); ++axis)
    if (state.partial >> axis & 1)
      layout.partial.insert(axis);
  return layout;
}

std::string text(const Layout &layout) {
  std::string out = "[";
  for (size_t dim = 0; dim < layout.cuts.size(); ++dim) {
    out += dim ? ", {" : "{";
    for (int axis : layout.cuts[dim])
      out += char('x' + axis);
    out += "}b" + std::to_string(layout.blocks[dim]);
  }
  out += "]";
  for (int axis : layout.partial)
    out += std::string(" +") + char('x' + axis);
  return out;
}

std::string text(const llvm::SmallVector<reshard::Step, 4> &steps,
                 const World &world) {
  const char *names[] = {"slice",      "all-reduce", "reduce-scatter",
                         "all-gather", "all-to-all", "permute",
                         "exchange"};
  std::string out;
  for (const reshard::Step &step : steps) {
    out += std::string("\n  ") + names[int(step.kind)] + " over ";
    for (uint8_t axis : step.axes)
      out += char('x' + axis);
    out += " -> " + text(toLayout(step.after, world)) + ", " +
           std::to_string(step.bytes) + " bytes";
  }
  return out;
}

/// Less than the latency of any collective here; slices cost less.
constexpr double kNothing = 5e-10;

struct Counts {
  int64_t pairs = 0, shorter = 0;
};

/// Compares all pairs of one world.
void comparePairs(const World &world, Counts &counts) {
  std::set<Layout> ends, set;
  addLayouts(world, {}, {}, world.slackOfEnds, ends);
  addLayouts(world, {}, {}, world.slack, set);
  // With three axes, none that leaves more members without anything than equal
  // blocks do: there would be too many.
  if (world.mesh.size() > 2)
    for (auto layout = set.begin(); layout != set.end();) {
      bool isLoose = false;
      for (size_t dim = 0; dim < world.shape.size(); ++dim) {
        int64_t size = world.shape[dim], ranks = world.product(layout->cuts[dim]);
        int64_t equal = (size + ranks - 1) / ranks, own = layout->blocks[dim];
        isLoose |= (size + own - 1) / own < (size + equal - 1) / equal;
      }
      layout = isLoose ? set.erase(layout) : std::next(layout);
    }
  // Blocks are made longer so that things fit into them, not to have none.
  if (world.slackOfEnds > 0)
    for (auto end = ends.begin(); end != ends.end();) {
      bool hasEmpty = false;
      for (size_t dim = 0; dim < world.shape.size(); ++dim)
        hasEmpty |= end->blocks[dim] * (world.product(end->cuts[dim]) - 1) >=
                    world.shape[dim];
      end = hasEmpty ? ends.erase(end) : std::next(end);
    }
  std::vector<Layout> all(set.begin(), set.end());
  std::map<Layout, size_t> numbers;
  for (size_t i = 0; i < all.size(); ++i)
    numbers[all[i]] = i;
  struct Edge {
    size_t to;
    double price;
  };
  std::vector<std::vector<size_t>> slices(all.size());
  std::vector<std::vector<Edge>> edges(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j)
        continue;
      if (isSlice(world, all[i], all[j]))
        slices[i].push_back(j);
      double price = collectiveSeconds(world, all[i], all[j]);
      if (price < INFINITY)
        edges[i].push_back({j, price});
    }
  reshard::Problem problem;
  problem.shape.assign(world.shape.begin(), world.shape.end());
  for (size_t axis = 0; axis < world.mesh.size(); ++axis)
    problem.axes.push_back({world.mesh[axis], world.links[axis], false});
  for (const Layout &source : ends) {
    // The least price after so many collectives and free slices, and for each
    // half round where the best way to a layout came from.
    std::vector<double> least(all.size(), INFINITY);
    std::vector<std::vector<size_t>> cameFrom;
    least[numbers.at(source)] = 0;
    for (int round = 0; round <= 4; ++round)
      for (bool isSliceRound : {false, true}) {
        std::vector<double> before = least;
        std::vector<size_t> &from = cameFrom.emplace_back(all.size());
        std::iota(from.begin(), from.end(), size_t(0));
        auto step = [&](size_t i, size_t to, double price) {
          if (before[i] + price < least[to]) {
            least[to] = before[i] + price;
            from[to] = i;
          }
        };
        for (size_t i = 0; i < all.size(); ++i) {
          if (before[i] == INFINITY)
            continue;
          if (isSliceRound)
            for (size_t j : slices[i])
              step(i, j, 0);
          else if (round > 0)
            for (const Edge &edge : edges[i])
              step(i, edge.to, edge.price);
        }
      }
    auto pathTo = [&](size_t end) {
      std::string path = text(all[end]);
      for (auto from = cameFrom.rbegin(); from != cameFrom.rend(); ++from)
        if ((*from)[end] != end) {
          end = (*from)[end];
          path = text(all[end]) + " " + path;
        }
      return path;
    };
    for (const Layout &target : ends) {
      if (!difference(target.partial, source.partial).empty())
        continue;
      ++counts.pairs;
      problem.source = toState(source);
      problem.target = toState(target);
      auto steps = reshard::search(problem);
      std::string pair = text(source) + " to " + text(target);
      ASSERT_TRUE(steps) << pair;
      double price = 0;
      Layout now = source;
      for (const reshard::Step &step : *steps) {
        Layout next = toLayout(step.after, world);
        if (step.kind == StepKind::Slice) {
          ASSERT_TRUE(isSlice(world, now, next)) << pair << text(*steps, world);
        } else {
          double own = step.kind == StepKind::Exchange
                           ? exchangeSeconds(world, now, next)
                           : collectiveSeconds(world, now, next);
          ASSERT_LE(own, step.seconds * (1 + 1e-9))
              << pair << text(*steps, world);
          price += step.seconds;
        }
        now = next;
      }
      ASSERT_FALSE(now < target || target < now) << pair << text(*steps, world);
      size_t end = numbers.at(target);
      double optimum = least[end];
      ASSERT_LE(price, optimum + kNothing)
          << pair << text(*steps, world) << "\nbut there is " << pathTo(end);
      counts.shorter += price < optimum - kNothing;
    }
  }
}

const Link even{1e9, 1e-7, false};
const Link fast{1e10, 1e-8, false};
const Link slow{1e8, 1e-7, false};
const Link waiting{1e9, 1e-4, false};

/// The links that a mesh is tried with: all alike, of few bytes and of few
/// collectives, and outer axes that are slower.
std::vector<std::vector<Link>> linksOf(size_t axes) {
  std::vector<std::vector<Link>> all(4, std::vector<Link>(axes));
  for (size_t axis = 0; axis < axes; ++axis) {
    bool inner = axis + 1 == axes;
    all[0][axis] = {1e9, 1e-9, false};
    all[1][axis] = waiting;
    all[2][axis] = inner ? fast : slow;
    all[3][axis] = inner ? slow : even;
  }
  return all;
}

std::string text(const Numbers &numbers) {
  std::string out;
  for (int64_t number : numbers)
    out += (out.empty() ? "" : "x") + std::to_string(number);
  return out;
}

void compareAll(const std::vector<Numbers> &meshes,
                const std::vector<Numbers> &shapes, int64_t slack,
                int64_t slackOfEnds, bool allLinks) {
  Counts counts;
  for (const Numbers &mesh : meshes)
    for (const Numbers &shape : shapes) {
      std::fprintf(stderr, "mesh %s, tensor %s\n", text(mesh).c_str(),
                   text(shape).c_str());
      auto links = linksOf(mesh.size());
      if (!allLinks)
        links = {links[0], links[2]};
      for (const std::vector<Link> &own : links) {
        World world{mesh, shape, own, slack, slackOfEnds};
        comparePairs(world, counts);
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
  std::printf("%ld pairs, %ld cheaper than with four collectives\n",
              long(counts.pairs), long(counts.shorter));
}

const std::vector<Numbers> meshes = {{4}, {2, 2}, {2, 3}, {2, 2, 2}};

TEST(Reshard, SizesThatDivide) {
  compareAll({{4}, {2, 2}, {2, 3}}, {{12, 24}}, 0, 0, true);
}

TEST(Reshard, SizesThatDoNotDivide) {
  compareAll({{4}, {2, 2}, {2, 3}}, {{5, 7}, {3, 10}, {1, 6}}, 9, 0, true);
}

TEST(Reshard, BlocksOfAllSizes) {
  compareAll({{4}, {2, 2}, {2, 3}}, {{9, 5}, {7, 4}}, 2, 2, false);
}

TEST(Reshard, ThreeAxes) {
  compareAll({{2, 2, 2}}, {{8, 16}}, 0, 0, false);
}

TEST(Reshard, ThreeDimensions) {
  compareAll({{4}, {2, 2}}, {{4, 8, 12}, {5, 3, 7}}, 1, 0, false);
}

// All of them: many minutes each in a release build.
TEST(Reshard, DISABLED_AllOfTwoDimensions) {
  compareAll(meshes, {{24, 12}, {5, 7}, {3, 10}, {1, 6}, {11, 8}}, 2, 0, true);
}

TEST(Reshard, DISABLED_AllOfThreeEvenDimensions) {
  compareAll(meshes, {{24, 12, 48}}, 0, 0, true);
}

TEST(Reshard, DISABLED_AllOfThreeDimensions) {
  compareAll(meshes, {{5, 3, 7}, {2, 9, 4}}, 1, 0, true);
}

TEST(Reshard, DISABLED_AllOfLongerBlocks) {
  compareAll({{4}, {2, 2}, {2, 3}}, {{13, 6}, {9, 10}}, 2, 2, true);
}

} // namespace
