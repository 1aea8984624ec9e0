//===- Gathers.cpp - dimensions that ops need whole -----------------------===//

#include "Gathers.h"

using namespace mlir;
using namespace pipemesh;

/// The axes that cut a dimension of the source and not of the target.
static Axes gatheredAxes(pm::ReshardOp op, unsigned dim) {
  ArrayRef<StringAttr> before = op.getSource().getDims()[dim].getAxes();
  ArrayRef<StringAttr> after = op.getTarget().getDims()[dim].getAxes();
  Axes axes;
  for (StringAttr axis : before)
    if (!llvm::is_contained(after, axis))
      axes.push_back(axis);
  return axes;
}

SmallVector<Gather> pipemesh::findGathers(ModuleOp module) {
  SmallVector<Gather> gathers;
  module.walk([&](pm::ReshardOp op) {
    unsigned rank = op.getSource().getDims().size();
    bool any = false;
    for (unsigned dim = 0; dim < rank && !any; ++dim)
      any = !gatheredAxes(op, dim).empty();
    if (!any)
      return;
    for (OpOperand &use : op.getResult().getUses()) {
      bool hasRule = false;
      ShardingRule rule = getRule(use.getOwner(), hasRule);
      unsigned operand = use.getOperandNumber();
      if (!hasRule || operand >= rule.operands.size())
        continue;
      for (auto [dim, factors] : llvm::enumerate(rule.operands[operand])) {
        const int64_t *whole = llvm::find_if(factors, [&](int64_t factor) {
          return rule.factors[factor].kind == FactorKind::NeedsReplication;
        });
        Axes axes = gatheredAxes(op, dim);
        if (whole != factors.end() && !axes.empty())
          gathers.push_back({use.getOwner(), operand, unsigned(dim), axes,
                             rule.factors[*whole].reason});
      }
    }
  });
  return gathers;
}

void pipemesh::remarkGathers(ModuleOp module) {
  for (const Gather &gather : findGathers(module)) {
    InFlightDiagnostic remark = gather.user->emitRemark("op '");
    remark << gather.user->getName() << "': dimension " << gather.dim
           << " of operand " << gather.operand << ", cut over ";
    llvm::interleaveComma(gather.axes, remark, [&](StringAttr axis) {
      remark << "'" << axis.getValue() << "'";
    });
    remark << ", is gathered: " << gather.reason;
  }
}
