//===- ShardingAlgebra.cpp - shardings as data ----------------------------===//

#include "ShardingAlgebra.h"
#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Shard/SeededFaults.h"
#include "mlir/IR/Matchers.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

MeshAxes::MeshAxes(pm::MeshOp mesh)
    : name(FlatSymbolRefAttr::get(mesh.getSymNameAttr())) {
  for (auto axis : mesh.getAxes().getAsRange<pm::MeshAxisAttr>()) {
    info[axis.getName()] = axis;
    order.push_back(axis.getName());
  }
  auto places = pm::placeMesh(mesh);
  if (!places)
    llvm::consumeError(places.takeError()); // pm-verify-sharded tells.
  else
    for (auto [axis, place] : llvm::zip(order, *places))
      links[axis] = place.link;
}

int64_t MeshAxes::sizeOf(StringAttr axis) const {
  auto found = info.find(axis);
  return found == info.end() ? 1 : found->second.getSize();
}

bool MeshAxes::isTemporal(StringAttr axis) const {
  auto found = info.find(axis);
  return found != info.end() &&
         found->second.getKind() == pm::AxisKind::Temporal;
}

bool MeshAxes::isStage(StringAttr axis) const {
  auto found = info.find(axis);
  return found != info.end() && found->second.getKind() == pm::AxisKind::Stage;
}

ValueSharding::ValueSharding(pm::ShardingAttr attr)
    : partial(attr.getPartialAxes()), kind(attr.getPartialKind()) {
  for (pm::DimShardingAttr dim : attr.getDims())
    dims.push_back({Axes(dim.getAxes()), dim.getBlockSize()});
}

pm::ShardingAttr ValueSharding::toAttr(const MeshAxes &mesh) const {
  MLIRContext *context = mesh.symbol().getContext();
  SmallVector<pm::DimShardingAttr> attrs;
  for (const DimCut &dim : dims)
    attrs.push_back(pm::DimShardingAttr::get(context, dim.axes, /*open=*/false,
                                             /*priority=*/0, dim.block));
  return pm::ShardingAttr::get(context, mesh.symbol(), attrs, partial,
                               partial.empty() ? pm::ReductionKind::Sum : kind);
}

bool pipemesh::isKnownZero(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
            stablehlo::ConvertOp, pm::ReshardOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    Attribute constant;
    if (!matchPattern(op, m_Constant(&constant)))
      return false;
    auto elements = dyn_cast<DenseElementsAttr>(constant);
    if (!elements || !elements.isSplat())
      return false;
    if (isa<FloatType>(elements.getElementType()))
      return elements.getSplatValue<APFloat>().isZero();
    if (isa<IntegerType>(elements.getElementType()))
      return elements.getSplatValue<APInt>().isZero();
    return false;
  }
}

ShardingRule pipemesh::getRule(Operation *op, bool &hasRule) {
  bool isLost = isSeeded(Fault::NoRule) && isa<pm::PMDialect>(op->getDialect());
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op);
      interface && !isLost) {
    ShardingRule rule = interface.getShardingRule();
    if (!rule.empty()) {
      hasRule = true;
      return rule;
    }
  }
  hasRule = false;
  ShardingRule rule;
  auto replicate = [](TypeRange types) {
    SmallVector<SmallVector<DimFactors>> lists;
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      lists.emplace_back(tensor ? tensor.getRank() : 0);
    }
    return lists;
  };
  rule.operands = replicate(op->getOperandTypes());
  rule.results = replicate(op->getResultTypes());
  return rule;
}
