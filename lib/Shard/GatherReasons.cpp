//===- GatherReasons.cpp --------------------------------------------------===//

#include "pipemesh/Shard/GatherReasons.h"
#include "Gathers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Interfaces/Interfaces.h"

using namespace mlir;
using namespace pipemesh;

static constexpr StringLiteral kReader = "pm.gathered_for";
static constexpr StringLiteral kReason = "reason";

Location pipemesh::withGatherReason(Location loc, const GatherReason &reason) {
  Builder builder(loc.getContext());
  return FusedLoc::get(
      {loc},
      builder.getDictionaryAttr(
          {builder.getNamedAttr(kReader, builder.getStringAttr(reason.reader)),
           builder.getNamedAttr(kReason, builder.getStringAttr(reason.reason))}),
      loc.getContext());
}

static void collect(Location loc, SmallVector<GatherReason> &reasons) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return;
  if (auto known = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()))
    if (auto reader = known.getAs<StringAttr>(kReader))
      if (auto reason = known.getAs<StringAttr>(kReason)) {
        reasons.push_back({reader.getValue(), reason.str()});
        return;
      }
  for (Location inner : fused.getLocations())
    collect(inner, reasons);
}

SmallVector<GatherReason> pipemesh::getGatherReasons(Operation *gather) {
  SmallVector<GatherReason> reasons;
  collect(gather->getLoc(), reasons);
  return reasons;
}

/// What the rule of the reader says about the dimensions of its operand that
/// are cut before the reshard and not behind it.
static std::string reasonOf(OpOperand &use, pm::ShardingAttr source,
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
        std::string reason =
            "dimension " + std::to_string(index) + " must be whole";
        if (const char *text = rule.factors[factor].reason; text && *text)
          reason += std::string(": ") + text;
        return reason;
      }
    if (dims[index].empty())
      return "dimension " + std::to_string(index) + " belongs to no factor";
  }
  return "its other operands or results lie otherwise";
}

GatherReason pipemesh::findGatherReason(pm::ReshardOp reshard) {
  if (reshard->use_empty())
    return {reshard->getName().getStringRef(), "nothing reads it"};
  OpOperand &use = *reshard->getUses().begin();
  return {use.getOwner()->getName().getStringRef(),
          reasonOf(use, reshard.getSource(), reshard.getTarget())};
}
