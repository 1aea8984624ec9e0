//===- RefineMesh.cpp - axes split into parts -----------------------------===//

#include "RefineMesh.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_REFINEMESHPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

std::optional<AxisPart> pipemesh::parseAxisPart(StringRef name) {
  AxisPart part;
  StringRef rest;
  std::tie(part.axis, rest) = name.rsplit(":(");
  if (rest.empty())
    return std::nullopt;
  auto [before, size] = rest.split(')');
  if (before.getAsInteger(10, part.before) || size.getAsInteger(10, part.size))
    return std::nullopt;
  return part;
}

//===----------------------------------------------------------------------===//
// What is split where
//===----------------------------------------------------------------------===//

bool MeshRefinement::split(StringAttr name, int64_t before) {
  pm::MeshAxisAttr axis = mesh.lookupAxis(name);
  if (!axis || axis.getKind() != pm::AxisKind::Spatial || before < 1 ||
      axis.getSize() % before != 0)
    return false;
  if (before == 1 || before == axis.getSize())
    return true;
  SmallVector<int64_t> list = points.lookup(name);
  if (llvm::is_contained(list, before))
    return true;
  list.push_back(before);
  llvm::sort(list);
  for (auto [low, high] : llvm::zip(list, ArrayRef(list).drop_front()))
    if (high % low != 0)
      return false;
  points[name] = std::move(list);
  return true;
}

void MeshRefinement::makeNames() {
  llvm::SmallDenseSet<StringAttr, 8> taken;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>())
    taken.insert(axis.getName());
  MLIRContext *context = mesh.getContext();
  for (auto &[name, list] : points) {
    int64_t low = 1;
    SmallVector<int64_t> ends(list);
    ends.push_back(mesh.lookupAxis(name).getSize());
    for (auto [number, high] : llvm::enumerate(ends)) {
      std::string text = (name.getValue() + "." + Twine(number)).str();
      while (taken.contains(StringAttr::get(context, text)))
        text += "_";
      auto made = StringAttr::get(context, text);
      taken.insert(made);
      axes[name].push_back({made, high / low});
      low = high;
    }
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

SmallVector<StringAttr> MeshRefinement::expand(StringAttr name) const {
  SmallVector<StringAttr> names;
  std::optional<AxisPart> part = parseAxisPart(name.getValue());
  auto whole = StringAttr::get(name.getContext(), part ? part->axis : name);
  auto found = axes.find(whole);
  if (found == axes.end()) {
    // A part that is all of its axis.
    names.push_back(whole);
    return names;
  }
  int64_t low = 1;
  for (const NewAxis &axis : found->second) {
    if (!part ||
        (low >= part->before && low < part->before * part->size))
      names.push_back(axis.name);
    low *= axis.size;
  }
  return names;
}

SmallVector<StringAttr>
MeshRefinement::expandAll(ArrayRef<StringAttr> names) const {
  SmallVector<StringAttr> list;
  for (StringAttr name : names)
    list.append(expand(name));
  return list;
}

ArrayAttr MeshRefinement::expandAll(ArrayAttr names) const {
  SmallVector<Attribute> list;
  for (Attribute name : names)
    llvm::append_range(list, expand(cast<StringAttr>(name)));
  return ArrayAttr::get(names.getContext(), list);
}

pm::ShardingAttr MeshRefinement::rewrite(pm::ShardingAttr sharding) const {
  MLIRContext *context = sharding.getContext();
  SmallVector<pm::DimShardingAttr> dims;
  for (pm::DimShardingAttr dim : sharding.getDims())
    dims.push_back(pm::DimShardingAttr::get(context, expandAll(dim.getAxes()),
                                            dim.getOpen(), dim.getPriority(),
                                            dim.getBlockSize()));
  return pm::ShardingAttr::get(
      context, sharding.getMesh(), dims, expandAll(sharding.getPartialAxes()),
      sharding.getPartialKind(), expandAll(sharding.getReplicatedAxes()));
}

/// The coordinate on an axis that was split, from those on its parts.
void MeshRefinement::rewriteIndex(pm::AxisIndexOp op) const {
  auto found = axes.find(op.getAxisAttr());
  if (found == axes.end())
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value sum;
  for (const NewAxis &axis : found->second) {
    Value index =
        pm::AxisIndexOp::create(builder, loc, type, axis.name, op.getMesh());
    if (sum) {
      Value size = stablehlo::ConstantOp::create(
          builder, loc, type,
          DenseElementsAttr::get(
              type, builder.getI32IntegerAttr(axis.size).getValue()));
      sum = stablehlo::MulOp::create(builder, loc, sum, size);
      sum = stablehlo::AddOp::create(builder, loc, sum, index);
    } else {
      sum = index;
    }
  }
  op.getResult().replaceAllUsesWith(sum);
  op.erase();
}

void MeshRefinement::apply(ModuleOp module) {
  makeNames();
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](pm::ShardingAttr sharding) -> std::pair<Attribute, WalkResult> {
        return {rewrite(sharding), WalkResult::skip()};
      });
  replacer.recursivelyReplaceElementsIn(module);
  module.walk([&](Operation *op) {
    if (auto index = dyn_cast<pm::AxisIndexOp>(op))
      return rewriteIndex(index);
    if (auto manual = dyn_cast<pm::ManualComputationOp>(op))
      manual.setManualAxesAttr(expandAll(manual.getManualAxes()));
    else if (isa<pm::AllReduceOp, pm::AllGatherOp, pm::ReduceScatterOp,
                 pm::AllToAllOp, pm::CollectivePermuteOp>(op))
      op->setAttr("axes", expandAll(op->getAttrOfType<ArrayAttr>("axes")));
  });
  SmallVector<Attribute> list;
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    auto found = axes.find(axis.getName());
    if (found == axes.end()) {
      list.push_back(axis);
      continue;
    }
    for (const NewAxis &made : found->second)
      list.push_back(pm::MeshAxisAttr::get(axis.getContext(), made.name,
                                           axis.getKind(), made.size));
  }
  mesh.setAxesAttr(ArrayAttr::get(module.getContext(), list));
}

namespace {
class RefineMesh : public pipemesh::impl::RefineMeshPassBase<RefineMesh> {
public:
  void runOnOperation() override {
    pm::MeshOp mesh = pm::lookupMesh(getOperation());
    if (!mesh)
      return;
    MeshRefinement refinement(mesh);
    bool failed = false, anyPart = false;
    auto addList = [&](Operation *op, ArrayRef<StringAttr> names) {
      bool hasPart = false;
      for (StringAttr name : names) {
        std::optional<AxisPart> part = parseAxisPart(name.getValue());
        if (!part || failed)
          continue;
        hasPart = anyPart = true;
        failed = !addPart(op, name, *part, mesh, refinement);
      }
      if (hasPart && !failed)
        failed = !areApart(op, names, mesh);
    };
    auto addAll = [&](Operation *op, Attribute attr) {
      attr.walk([&](pm::ShardingAttr sharding) {
        SmallVector<StringAttr> names;
        for (pm::DimShardingAttr dim : sharding.getDims())
          names.append(dim.getAxes().begin(), dim.getAxes().end());
        llvm::append_range(names, sharding.getPartialAxes());
        llvm::append_range(names, sharding.getReplicatedAxes());
        addList(op, names);
      });
    };
    getOperation().walk([&](Operation *op) {
      if (isa<pm::MeshOp>(op))
        return;
      addAll(op, op->getAttrDictionary());
      for (StringRef name : {"axes", "manual_axes"})
        if (auto list = op->getAttrOfType<ArrayAttr>(name)) {
          SmallVector<StringAttr> names;
          for (Attribute axis : list)
            if (auto text = dyn_cast<StringAttr>(axis))
              names.push_back(text);
          addList(op, names);
        }
    });
    if (failed)
      return signalPassFailure();
    if (anyPart)
      refinement.apply(getOperation());
  }

private:
  /// Whether no two names of one list share coordinates of an axis.
  static bool areApart(Operation *op, ArrayRef<StringAttr> names,
                       pm::MeshOp mesh) {
    auto rangeOf = [&](StringAttr name) {
      AxisPart part;
      if (auto found = parseAxisPart(name.getValue()))
        return *found;
      part.axis = name.getValue();
      part.before = 1;
      pm::MeshAxisAttr axis = mesh.lookupAxis(name);
      part.size = axis ? axis.getSize() : 1;
      return part;
    };
    for (auto [index, name] : llvm::enumerate(names))
      for (StringAttr other : names.take_front(index)) {
        AxisPart a = rangeOf(name), b = rangeOf(other);
        if (a.axis != b.axis || a.before >= b.before * b.size ||
            b.before >= a.before * a.size)
          continue;
        op->emitError("'") << other.getValue() << "' and '" << name.getValue()
                           << "' of one list are parts of the axis '" << a.axis
                           << "' that overlap";
        return false;
      }
    return true;
  }

  static bool addPart(Operation *op, StringAttr name, const AxisPart &part,
                      pm::MeshOp mesh, MeshRefinement &refinement) {
    pm::MeshAxisAttr axis =
        mesh.lookupAxis(StringAttr::get(op->getContext(), part.axis));
    if (!axis) {
      op->emitError("'") << name.getValue() << "' is a part of '" << part.axis
                         << "', which is no axis of the mesh '"
                         << mesh.getSymName() << "'";
      return false;
    }
    if (axis.getKind() != pm::AxisKind::Spatial) {
      op->emitError("'") << name.getValue()
                         << "' is a part of an axis that is not spatial; only "
                            "spatial axes have parts";
      return false;
    }
    if (part.before < 1 || part.size < 2 ||
        axis.getSize() % (part.before * part.size) != 0) {
      op->emitError("'") << name.getValue() << "' does not divide the axis '"
                         << part.axis << "' of size " << axis.getSize();
      return false;
    }
    if (refinement.split(axis.getName(), part.before) &&
        refinement.split(axis.getName(), part.before * part.size))
      return true;
    op->emitError("'") << name.getValue()
                       << "' and another part of the axis '" << part.axis
                       << "' of size " << axis.getSize()
                       << " have no common refinement; use parts that divide "
                          "each other";
    return false;
  }
};
} // namespace
