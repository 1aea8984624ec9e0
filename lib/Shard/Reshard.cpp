//===- Reshard.cpp - the cheapest way between two shardings ---------------===//
//
// Axes become numbers for the search, and its steps shardings again.
//
//===----------------------------------------------------------------------===//

#include "Reshard.h"
#include <map>

using namespace mlir;
using namespace pipemesh;

namespace {
/// A reshard in numbers: of the mesh's axes those that occur and, where links are
/// known, the others that divide ranks: they may share the work of a slow one.
class Numbering {
public:
  Numbering(const MeshAxes &mesh, const ValueSharding &source,
            const ValueSharding &target)
      : mesh(mesh) {
    for (StringAttr axis : mesh.all()) {
      bool occurs = false;
      for (const ValueSharding *end : {&source, &target}) {
        occurs |= llvm::is_contained(end->partial, axis);
        for (const DimCut &cut : end->dims)
          occurs |= llvm::is_contained(cut.axes, axis);
      }
      if (mesh.sizeOf(axis) > 1 &&
          (occurs || (mesh.hasLinks() && !mesh.isTemporal(axis) &&
                      !mesh.isStage(axis))))
        names.push_back(axis);
    }
  }

  SmallVector<reshard::Axis, 4> axes() const {
    SmallVector<reshard::Axis, 4> list;
    for (StringAttr name : names)
      list.push_back(
          {mesh.sizeOf(name), mesh.linkOf(name), mesh.isTemporal(name)});
    return list;
  }

  reshard::State toState(RankedTensorType global,
                         const ValueSharding &sharding) const {
    reshard::State state;
    for (auto [size, dim] : llvm::zip(global.getShape(), sharding.dims)) {
      reshard::Cut &cut = state.dims.emplace_back();
      int64_t blocks = 1;
      for (StringAttr axis : dim.axes) {
        cut.axes.push_back(numberOf(axis));
        blocks *= mesh.sizeOf(axis);
      }
      cut.block = dim.block && blocks > 1 ? dim.block
                                          : llvm::divideCeil(size, blocks);
    }
    for (StringAttr axis : sharding.partial)
      state.partial |= 1u << numberOf(axis);
    return state;
  }

  ValueSharding toSharding(RankedTensorType global,
                           const reshard::State &state,
                           pm::ReductionKind kind) const {
    ValueSharding sharding(global.getRank());
    for (auto [dim, cut] : llvm::enumerate(state.dims)) {
      int64_t blocks = 1;
      for (uint8_t axis : cut.axes) {
        sharding.dims[dim].axes.push_back(names[axis]);
        blocks *= mesh.sizeOf(names[axis]);
      }
      if (cut.block != int64_t(llvm::divideCeil(global.getDimSize(dim), blocks)))
        sharding.dims[dim].block = cut.block;
    }
    for (size_t axis = 0; axis < names.size(); ++axis)
      if (state.partial >> axis & 1)
        sharding.partial.push_back(names[axis]);
    sharding.kind = kind;
    return sharding;
  }

  size_t size() const { return names.size(); }
  StringAttr name(uint8_t axis) const { return names[axis]; }

private:
  uint8_t numberOf(StringAttr axis) const {
    return llvm::find(names, axis) - names.begin();
  }

  const MeshAxes &mesh;
  SmallVector<StringAttr, 4> names;
};
} // namespace

static double bytesOfElement(RankedTensorType type) {
  return byteSizeOf(RankedTensorType::get({1}, type.getElementType()));
}

FailureOr<ReshardSteps>
pipemesh::findReshard(RankedTensorType global, const ValueSharding &source,
                      const ValueSharding &target, const MeshAxes &mesh,
                      std::string &error, uint32_t without) {
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
  Numbering numbers(mesh, source, target);
  reshard::Problem problem;
  problem.shape.assign(global.getShape().begin(), global.getShape().end());
  problem.elementBytes = bytesOfElement(global);
  problem.axes = numbers.axes();
  problem.source = numbers.toState(global, source);
  problem.target = numbers.toState(global, target);
  problem.without = without;
  if (auto found = reshard::search(problem)) {
    ReshardSteps steps;
    for (const reshard::Step &step : *found) {
      ReshardStep &made = steps.emplace_back();
      made.kind = step.kind;
      for (uint8_t axis : step.axes)
        made.axes.push_back(numbers.name(axis));
      made.dim = step.dim;
      made.split = step.split;
      made.after = numbers.toSharding(global, step.after, source.kind);
      for (const reshard::Cut &cut : step.after.dims)
        made.shape.push_back(cut.block);
      made.bytes = step.bytes;
      made.seconds = step.seconds;
      made.pieces = step.pieces;
    }
    return steps;
  }
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

double pipemesh::secondsOf(ArrayRef<ReshardStep> steps) {
  double seconds = 0;
  for (const ReshardStep &step : steps)
    seconds += step.seconds;
  return seconds;
}

FailureOr<const ReshardSteps *> Reshards::find(RankedTensorType global,
                                               const ValueSharding &source,
                                               const ValueSharding &target,
                                               std::string &error) {
  std::unique_ptr<ReshardSteps> &steps =
      known[{global, source.toAttr(mesh), target.toAttr(mesh)}];
  if (!steps) {
    auto found = findReshard(global, source, target, mesh, error);
    if (failed(found))
      return failure();
    steps = std::make_unique<ReshardSteps>(std::move(*found));
  }
  return const_cast<const ReshardSteps *>(steps.get());
}

//===----------------------------------------------------------------------===//
// Permutes
//===----------------------------------------------------------------------===//

SmallVector<int64_t>
pipemesh::findPermuteSources(RankedTensorType global,
                             const ValueSharding &before,
                             const ValueSharding &after,
                             ArrayRef<StringAttr> axes, const MeshAxes &mesh) {
  int64_t members = 1;
  for (StringAttr axis : axes)
    members *= mesh.sizeOf(axis);
  SmallVector<int64_t> coordinates(axes.size());
  auto goTo = [&](int64_t member) {
    for (size_t i = axes.size(); i-- > 0; member /= mesh.sizeOf(axes[i]))
      coordinates[i] = member % mesh.sizeOf(axes[i]);
  };
  auto coordinate = [&](StringAttr axis) -> int64_t {
    const auto *found = llvm::find(axes, axis);
    return found == axes.end() ? 0 : coordinates[found - axes.begin()];
  };
  // The blocks of a member, counted along the axes that take part, and which
  // part of a sum they are; nothing where they lie behind an end.
  auto contentOf = [&](const ValueSharding &own, const ValueSharding &other) {
    std::optional<SmallVector<int64_t, 5>> content(std::in_place);
    for (auto [size, cut, otherCut] :
         llvm::zip(global.getShape(), own.dims, other.dims)) {
      int64_t block = 0, blocks = 1;
      bool takesPart = true;
      for (StringAttr axis : cut.axes) {
        block = block * mesh.sizeOf(axis) + coordinate(axis);
        blocks *= mesh.sizeOf(axis);
        takesPart &= llvm::is_contained(axes, axis);
      }
      int64_t elements = cut.block && blocks > 1
                             ? cut.block
                             : llvm::divideCeil(size, blocks);
      // Others' coordinates are added to the block, so that it may exist.
      if (takesPart && size > 0 && block * elements >= size)
        return std::optional<SmallVector<int64_t, 5>>();
      content->push_back(block);
    }
    int64_t part = 0;
    for (StringAttr axis : mesh.all())
      if (llvm::is_contained(own.partial, axis) &&
          !llvm::is_contained(other.partial, axis))
        part = part * mesh.sizeOf(axis) + coordinate(axis);
    // A sum's axis that stays counts itself.
    for (StringAttr axis : own.partial)
      if (llvm::is_contained(other.partial, axis))
        part = part * mesh.sizeOf(axis) + coordinate(axis);
    content->push_back(part);
    return content;
  };

  std::map<SmallVector<int64_t, 5>, SmallVector<int64_t>> holders;
  SmallVector<std::optional<SmallVector<int64_t, 5>>> needs;
  SmallVector<int64_t> sources(members, -1);
  for (int64_t member = 0; member < members; ++member) {
    goTo(member);
    needs.push_back(contentOf(after, before));
    auto has = contentOf(before, after);
    if (!has)
      continue;
    if (needs.back() == has)
      sources[member] = member;
    else
      holders[*has].push_back(member);
  }
  // What crosses the outermost axes costs the most.
  auto distance = [&](int64_t a, int64_t b) {
    double price = 0;
    for (size_t i = axes.size(); i-- > 0;
         a /= mesh.sizeOf(axes[i]), b /= mesh.sizeOf(axes[i]))
      if (a % mesh.sizeOf(axes[i]) != b % mesh.sizeOf(axes[i]))
        price += 1 / mesh.linkOf(axes[i]).bandwidth;
    return price;
  };
  for (int64_t member = 0; member < members; ++member) {
    if (!needs[member] || sources[member] >= 0)
      continue;
    auto found = holders.find(*needs[member]);
    if (found == holders.end() || found->second.empty())
      continue;
    auto *best = std::min_element(
        found->second.begin(), found->second.end(), [&](int64_t a, int64_t b) {
          return distance(a, member) < distance(b, member);
        });
    sources[member] = *best;
    found->second.erase(best);
  }
  return sources;
}
