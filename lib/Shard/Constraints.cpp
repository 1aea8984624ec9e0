//===- Constraints.cpp - constraints that strategies put ------------------===//

#include "Constraints.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pipemesh;

pm::ConstrainOp
pipemesh::constrainUses(Value value, pm::ShardingAttr sharding, Attribute phase,
                        llvm::function_ref<bool(OpOperand &)> isMeant) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto constrain = pm::ConstrainOp::create(builder, value.getLoc(),
                                           value.getType(), value, sharding);
  constrain->setAttr(kForwardOnlyAttr, builder.getUnitAttr());
  if (phase)
    constrain->setAttr(pm::kPhaseAttr, phase);
  value.replaceUsesWithIf(constrain.getResult(), [&](OpOperand &use) {
    return use.getOwner() != constrain && isMeant(use);
  });
  return constrain;
}
