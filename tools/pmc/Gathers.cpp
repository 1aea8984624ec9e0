//===- Gathers.cpp --------------------------------------------------------===//

#include "Gathers.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Interfaces/Interfaces.h"
#include "pipemesh/Lower/TripCount.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pipemesh;
namespace json = llvm::json;

/// What the rule of `reader` says about the dimensions of its operand that are
/// cut in `source` and not in `target`; empty where it says nothing.
static std::string findReason(OpOperand &use, pm::ShardingAttr source,
                              pm::ShardingAttr target) {
  Operation *reader = use.getOwner();
  if (isa<func::ReturnOp>(reader))
    return "the result is declared so";
  if (isa<pm::ConstrainOp>(reader))
    return "a constraint asks for it";
  if (isa<pm::ManualComputationOp>(reader))
    return "the manual computation takes it so";
  auto interface = dyn_cast<ShardingRuleOpInterface>(reader);
  if (!interface)
    return reader->hasTrait<OpTrait::IsTerminator>()
               ? "the loop or choice around it carries it so"
               : "the op has no rule";
  ShardingRule rule = interface.getShardingRule();
  if (rule.empty() || use.getOperandNumber() >= rule.operands.size())
    return "the op has no rule";
  auto &dims = rule.operands[use.getOperandNumber()];
  for (auto [index, dim] : llvm::enumerate(source.getDims())) {
    if (index >= dims.size() || dim.getAxes().empty() ||
        target.getDims()[index].getAxes() == dim.getAxes())
      continue;
    for (int64_t factor : dims[index])
      if (rule.factors[factor].kind == FactorKind::NeedsReplication) {
        std::string reason = "dimension " + std::to_string(index) + " must be whole";
        if (const char *text = rule.factors[factor].reason; text && *text)
          reason += std::string(": ") + text;
        return reason;
      }
    if (dims[index].empty())
      return "dimension " + std::to_string(index) + " belongs to no factor";
  }
  return "its other operands or results lie otherwise";
}

static int64_t axisSize(pm::MeshOp mesh, StringAttr axis) {
  if (auto found = mesh.lookupAxis(axis.getValue()))
    return found.getSize();
  // A part of an axis: "x:(2)4".
  int64_t size = 1;
  axis.getValue().rsplit(')').second.getAsInteger(10, size);
  return size;
}

json::Array pipemesh::listGathers(ModuleOp module) {
  json::Array list;
  pm::MeshOp mesh = pm::lookupMesh(module);
  if (!mesh)
    return list;
  module.walk([&](pm::ReshardOp op) {
    pm::ShardingAttr source = op.getSource(), target = op.getTarget();
    json::Array axes;
    int64_t before = 1, after = 1;
    for (pm::DimShardingAttr dim : source.getDims())
      for (StringAttr axis : dim.getAxes()) {
        before *= axisSize(mesh, axis);
        if (!target.shardsAxis(axis.getValue()) && axisSize(mesh, axis) > 1)
          axes.push_back(axis.getValue());
      }
    for (pm::DimShardingAttr dim : target.getDims())
      for (StringAttr axis : dim.getAxes())
        after *= axisSize(mesh, axis);
    auto type = cast<RankedTensorType>(op.getType());
    if (axes.empty() || after >= before || !type.hasStaticShape() ||
        type.getNumElements() < 2)
      return;
    int64_t runs = 1;
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      if (auto loop = dyn_cast<stablehlo::WhileOp>(parent))
        runs *= countTrips(loop).value_or(1);
    Type element = type.getElementType();
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
    std::string value, reader, reason;
    llvm::raw_string_ostream stream(value);
    if (Operation *maker = op.getInput().getDefiningOp())
      stream << maker->getName();
    else
      stream << "argument";
    stream << " : " << type;
    if (!op->use_empty()) {
      OpOperand &use = *op->getUses().begin();
      reader = use.getOwner()->getName().getStringRef().str();
      reason = findReason(use, source, target);
    }
    list.push_back(json::Object{
        {"value", value},
        {"axes", std::move(axes)},
        {"bytes", type.getNumElements() * ((bits + 7) / 8) / after},
        {"runs", runs},
        {"reader", reader},
        {"reason", reason}});
  });
  return list;
}
