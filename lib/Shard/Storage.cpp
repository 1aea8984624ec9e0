//===- Storage.cpp - parameters and moments kept in pieces ----------------===//

#include "Storage.h"
#include "Constraints.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pipemesh;

static int64_t ranksOf(pm::DimShardingAttr dim, pm::MeshOp mesh) {
  int64_t ranks = 1;
  for (StringAttr name : dim.getAxes())
    if (pm::MeshAxisAttr axis = mesh.lookupAxis(name))
      ranks *= axis.getSize();
  return ranks;
}

pm::ShardingAttr pipemesh::cutStorage(RankedTensorType type,
                                      pm::ShardingAttr sharding,
                                      StringAttr axis, int64_t ranks,
                                      const pm::MeshOp &meshOp) {
  pm::MeshOp mesh = meshOp;
  ArrayRef<pm::DimShardingAttr> dims = sharding.getDims();
  int64_t chosen = -1;
  auto choose = [&](llvm::function_ref<bool(int64_t, int64_t)> fits) {
    for (int64_t dim = 0; chosen < 0 && dim < type.getRank(); ++dim)
      if (dims[dim].getBlockSize() == 0 &&
          fits(type.getDimSize(dim), ranksOf(dims[dim], mesh)))
        chosen = dim;
  };
  choose([&](int64_t size, int64_t pieces) {
    return size > 0 && pieces == 1 && size % ranks == 0;
  });
  choose([&](int64_t size, int64_t pieces) {
    return size > 0 && size % (pieces * ranks) == 0;
  });
  int64_t longest = ranks - 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (ranksOf(dims[dim], mesh) == 1)
      longest = std::max(longest, type.getDimSize(dim));
  choose([&](int64_t size, int64_t pieces) {
    return pieces == 1 && size >= ranks && size == longest;
  });
  if (chosen < 0)
    return sharding;
  MLIRContext *context = axis.getContext();
  SmallVector<pm::DimShardingAttr> cut(dims);
  SmallVector<StringAttr> axes(cut[chosen].getAxes());
  axes.push_back(axis);
  cut[chosen] = pm::DimShardingAttr::get(context, axes);
  return pm::ShardingAttr::get(context, sharding.getMesh(), cut);
}

void pipemesh::cutState(func::FuncOp function, int64_t zero, pm::MeshOp mesh,
                        MutableArrayRef<Attribute> shardings,
                        MutableArrayRef<Attribute> results) {
  MLIRContext *context = function.getContext();
  auto axis = StringAttr::get(context, "dp");
  int64_t ranks = mesh.lookupAxis("dp").getSize();
  if (zero == 0 || ranks == 1)
    return;
  auto stateOf = [&](unsigned index) {
    return function.getArgAttrOfType<pm::StateAttr>(index, pm::kStateAttr);
  };
  // How each parameter's gradient and moments are kept.
  llvm::StringMap<pm::ShardingAttr> kept;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    pm::StateAttr state = stateOf(index);
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
    if (!type || !state || state.getKind() == pm::StateKind::Step)
      continue;
    auto whole = cast<pm::ShardingAttr>(shardings[index]);
    pm::ShardingAttr cut = cutStorage(type, whole, axis, ranks, mesh);
    if (cut == whole)
      continue;
    kept[state.getName().getValue()] = cut;
    bool isParameter = state.getKind() == pm::StateKind::Parameter;
    if (isParameter && zero < 3)
      continue;
    shardings[index] = cut;
    if (isParameter)
      constrainUses(function.getArgument(index), whole, {},
                    [](OpOperand &use) {
                      return !isa<pm::AdamWOp, func::ReturnOp>(use.getOwner());
                    });
  }
  // The first result is the parameter's new value.
  auto update = StringAttr::get(context, "update");
  llvm::SmallDenseSet<Value> done;
  function.walk([&](pm::AdamWOp op) {
    auto parameter = dyn_cast<BlockArgument>(op.getParam());
    pm::StateAttr state =
        parameter ? stateOf(parameter.getArgNumber()) : pm::StateAttr();
    pm::ShardingAttr cut =
        state ? kept.lookup(state.getName().getValue()) : pm::ShardingAttr();
    Value gradient = op.getGrad();
    if (cut && gradient.getDefiningOp() && done.insert(gradient).second)
      constrainUses(gradient, cut, update,
                    [](OpOperand &use) {
                      auto phase = use.getOwner()->getAttrOfType<StringAttr>(
                          pm::kPhaseAttr);
                      return isa<func::ReturnOp>(use.getOwner()) ||
                             (phase && phase.getValue() == "update");
                    });
  });
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto output =
        function.getResultAttrOfType<StringAttr>(index, pm::kOutputAttr);
    auto name = function.getResultAttrOfType<StringAttr>(index, pm::kNameAttr);
    if (output && output.getValue() == "gradient" && name)
      if (pm::ShardingAttr cut = kept.lookup(name.getValue()))
        results[index] = cut;
  }
}
