//===- Reshard.cpp - the cheapest way between two shardings ---------------===//
//
// Dijkstra's search. The states are shardings of the value, with the axes over
// which it is partial; the edges are collectives and slices. States are few: an
// axis is added to a dimension only where the target has it.
//
//===----------------------------------------------------------------------===//

#include "Reshard.h"
#include "LocalType.h"
#include <set>

using namespace mlir;
using namespace pipemesh;

/// A collective costs as much as sending so many bytes, however small it is.
static constexpr double kLatencyBytes = 1 << 14;
/// A copy of one's own memory is cheap; fewer are better.
static constexpr double kSlice = 1;

namespace {
class Search {
public:
  Search(RankedTensorType global, const ValueSharding &target,
         const MeshAxes &mesh)
      : global(global), target(target), mesh(mesh) {}

  FailureOr<SmallVector<ReshardStep>> run(const ValueSharding &source);

private:
  struct Reached {
    double price;
    ValueSharding sharding;
    Attribute from;
    ReshardStep step;
  };

  double bytesOf(const ValueSharding &sharding) const;
  /// Whether the blocks of `inner` axes within those of `outer` ones are whole:
  /// with short last blocks they may lie elsewhere.
  bool isNested(unsigned dim, ArrayRef<StringAttr> outer,
                ArrayRef<StringAttr> inner) const;
  void offer(const Reached &at, Attribute key, ReshardStep step,
             ValueSharding next, double price);
  void expand(const Reached &at, Attribute key);

  RankedTensorType global;
  const ValueSharding &target;
  const MeshAxes &mesh;
  llvm::DenseMap<Attribute, Reached> reached;
  /// (price, number in the order of discovery, state).
  std::set<std::tuple<double, unsigned, const void *>> queue;
  unsigned discovered = 0;
};
} // namespace

static int64_t ranksOf(ArrayRef<StringAttr> axes, const MeshAxes &mesh) {
  int64_t ranks = 1;
  for (StringAttr axis : axes)
    ranks *= mesh.sizeOf(axis);
  return ranks;
}

double Search::bytesOf(const ValueSharding &sharding) const {
  double bytes = byteSizeOf(global);
  for (auto [size, cut] : llvm::zip(global.getShape(), sharding.dims))
    if (size > 0)
      bytes = bytes / size * llvm::divideCeil(size, ranksOf(cut.axes, mesh));
  return bytes;
}

bool Search::isNested(unsigned dim, ArrayRef<StringAttr> outer,
                      ArrayRef<StringAttr> inner) const {
  if (outer.empty())
    return true;
  int64_t size = global.getDimSize(dim), blocks = ranksOf(outer, mesh),
          parts = ranksOf(inner, mesh);
  return int64_t(llvm::divideCeil(size, blocks)) ==
         parts * int64_t(llvm::divideCeil(size, blocks * parts));
}

void Search::offer(const Reached &at, Attribute key, ReshardStep step,
                   ValueSharding next, double price) {
  price += at.price;
  Attribute nextKey = next.toAttr(mesh);
  auto found = reached.find(nextKey);
  if (found != reached.end() && found->second.price <= price)
    return;
  reached[nextKey] = {price, std::move(next), key, std::move(step)};
  queue.insert({price, ++discovered, nextKey.getAsOpaquePointer()});
}

void Search::expand(const Reached &at, Attribute key) {
  const ValueSharding &now = at.sharding;
  double bytes = bytesOf(now);
  auto collective = [&](ArrayRef<StringAttr> axes, double operands) {
    int64_t ranks = ranksOf(axes, mesh);
    return operands * bytes * (ranks - 1) / ranks + kLatencyBytes;
  };
  auto isPartial = [&](StringAttr axis) {
    return llvm::is_contained(now.partial, axis);
  };
  auto isUsed = [&](StringAttr axis) {
    return isPartial(axis) || llvm::any_of(now.dims, [&](const DimCut &dim) {
             return llvm::is_contained(dim.axes, axis);
           });
  };
  for (unsigned dim = 0; dim < now.dims.size(); ++dim) {
    ArrayRef<StringAttr> have = now.dims[dim].axes,
                         want = target.dims[dim].axes;
    if (have.size() < want.size() && want.take_front(have.size()) == have)
      for (size_t count = 1; have.size() + count <= want.size(); ++count) {
        Axes axes(want.slice(have.size(), count));
        if (!isNested(dim, have, axes))
          continue;
        ValueSharding next = now;
        next.dims[dim].axes.append(axes);
        if (llvm::none_of(axes, isUsed))
          offer(at, key, {ReshardStep::Slice, axes, dim}, next, kSlice);
        if (!llvm::all_of(axes, [&](StringAttr axis) {
              return isPartial(axis) && !mesh.isTemporal(axis);
            }))
          continue;
        for (StringAttr axis : axes)
          llvm::erase(next.partial, axis);
        offer(at, key, {ReshardStep::ReduceScatter, axes, dim}, next,
              collective(axes, 1));
      }
    for (size_t count = 1; count <= have.size(); ++count) {
      ArrayRef<StringAttr> rest = have.drop_back(count);
      Axes axes(have.take_back(count));
      if (mesh.isTemporal(axes.front()))
        break;
      if (!isNested(dim, rest, axes))
        continue;
      ValueSharding next = now;
      next.dims[dim].axes.assign(rest.begin(), rest.end());
      int64_t ranks = ranksOf(axes, mesh);
      offer(at, key, {ReshardStep::AllGather, axes, dim}, next,
            collective(axes, ranks));
    }
  }
  Axes sums;
  for (StringAttr axis : now.partial)
    if (!llvm::is_contained(target.partial, axis) && !mesh.isTemporal(axis))
      sums.push_back(axis);
  for (unsigned mask = 1; mask < (1u << sums.size()); ++mask) {
    ValueSharding next = now;
    Axes axes;
    for (auto [bit, axis] : llvm::enumerate(sums))
      if (mask >> bit & 1) {
        axes.push_back(axis);
        llvm::erase(next.partial, axis);
      }
    offer(at, key, {ReshardStep::AllReduce, axes}, next, collective(axes, 2));
  }
}

FailureOr<SmallVector<ReshardStep>> Search::run(const ValueSharding &source) {
  Attribute start = source.toAttr(mesh), goal = target.toAttr(mesh);
  reached[start] = {0, source, {}, {}};
  queue.insert({0, 0, start.getAsOpaquePointer()});
  while (!queue.empty()) {
    auto [price, number, pointer] = *queue.begin();
    queue.erase(queue.begin());
    Attribute key = Attribute::getFromOpaquePointer(pointer);
    const Reached at = reached.find(key)->second;
    if (price > at.price)
      continue;
    if (key == goal) {
      SmallVector<ReshardStep> steps;
      for (Attribute step = key; step != start; step = reached[step].from)
        steps.push_back(reached[step].step);
      std::reverse(steps.begin(), steps.end());
      return steps;
    }
    expand(at, key);
  }
  return failure();
}

FailureOr<SmallVector<ReshardStep>>
pipemesh::findReshard(RankedTensorType global, const ValueSharding &source,
                      const ValueSharding &target, const MeshAxes &mesh,
                      std::string &error) {
  for (StringAttr axis : target.partial)
    if (!llvm::is_contained(source.partial, axis)) {
      error = "a whole value cannot become partial over '" +
              axis.getValue().str() + "'";
      return failure();
    }
  for (StringAttr axis : source.partial)
    if (mesh.isTemporal(axis) && !llvm::is_contained(target.partial, axis)) {
      error = "a sum over the temporal axis '" + axis.getValue().str() +
              "' is complete only in a prologue or an update";
      return failure();
    }
  ValueSharding from = source, to = target;
  if (from.partial.empty())
    from.kind = pm::ReductionKind::Sum;
  if (to.partial.empty())
    to.kind = pm::ReductionKind::Sum;
  else
    to.kind = from.kind;
  auto steps = Search(global, to, mesh).run(from);
  if (succeeded(steps))
    return steps;
  for (auto [dim, cut] : llvm::enumerate(source.dims))
    for (StringAttr axis : cut.axes)
      if (mesh.isTemporal(axis)) {
        error = "dimension " + std::to_string(dim) +
                " is cut over the temporal axis '" + axis.getValue().str() +
                "', and micro-batches are not gathered";
        return failure();
      }
  error = "no collective leads there";
  return failure();
}
