//===- SequenceParallel.cpp - the residual stream cut over tp -------------===//

#include "SequenceParallel.h"
#include "Constraints.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pipemesh;

static Attribute phaseOf(Operation *op) { return op->getAttr(pm::kPhaseAttr); }

/// Gathers `value` for the products that read it, once for each phase, so that
/// the whole need not be kept from the forward to the backward.
static void gatherForProducts(Value value, pm::ShardingAttr whole) {
  llvm::MapVector<Attribute, SmallVector<OpOperand *>> byPhase;
  for (OpOperand &use : value.getUses())
    if (isa<stablehlo::DotGeneralOp>(use.getOwner()))
      byPhase[phaseOf(use.getOwner())].push_back(&use);
  for (auto &[phase, uses] : byPhase) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    OpBuilder builder(first);
    auto constrain = pm::ConstrainOp::create(builder, value.getLoc(),
                                             value.getType(), value, whole);
    if (phase)
      constrain->setAttr(pm::kPhaseAttr, phase);
    for (OpOperand *use : uses)
      use->set(constrain.getResult());
  }
}

namespace {
/// The values of the residual stream and of its gradient.
struct Streams {
  /// Inputs of norms.
  llvm::SetVector<Value> residuals;
  /// What norms make of them, and gradients of the stream: sums of what goes
  /// back through norms.
  llvm::SetVector<Value> read;
  /// What comes back to the norms.
  llvm::SetVector<Value> cotangents;
  unsigned norms = 0;
};
} // namespace

static bool isNormGradient(Operation *op) {
  return isa<pm::RMSNormInputGradOp, pm::LayerNormInputGradOp,
             pm::RMSNormWeightGradOp, pm::LayerNormWeightGradOp>(op);
}

static Streams findStreams(Block &body) {
  Streams streams;
  llvm::SmallDenseSet<Value> gradients;
  for (Operation &op : body) {
    if (op.getNumResults() == 0)
      continue;
    Value result = op.getResult(0);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type.getRank() != 3)
      continue;
    if (isa<pm::RMSNormOp, pm::LayerNormOp>(op)) {
      ++streams.norms;
      streams.residuals.insert(op.getOperand(0));
      streams.read.insert(result);
    } else if (isa<pm::RMSNormInputGradOp, pm::LayerNormInputGradOp>(op) ||
               (isa<stablehlo::AddOp>(op) &&
                llvm::any_of(op.getOperands(), [&](Value operand) {
                  return gradients.contains(operand);
                }))) {
      gradients.insert(result);
      streams.read.insert(result);
    }
    if (auto norm = dyn_cast<pm::RMSNormInputGradOp>(op))
      streams.cotangents.insert(norm.getGrad());
    else if (auto norm = dyn_cast<pm::LayerNormInputGradOp>(op))
      streams.cotangents.insert(norm.getGrad());
  }
  return streams;
}

unsigned pipemesh::cutSequence(func::FuncOp function, pm::ShardingAttr pieces,
                               pm::ShardingAttr whole) {
  Streams streams = findStreams(function.getBody().front());
  // Products first: what they read is gathered, not the stream.
  for (Value value : streams.read)
    gatherForProducts(value, whole);
  // A product's parts are added up by a reduce-scatter, whatever made them.
  for (Value value : streams.residuals)
    if (Operation *op = value.getDefiningOp())
      constrainUses(value, pieces, phaseOf(op),
                    [](OpOperand &) { return true; });
  for (Value value : streams.cotangents)
    if (Operation *op = value.getDefiningOp())
      constrainUses(value, pieces, phaseOf(op), [](OpOperand &use) {
        return isNormGradient(use.getOwner());
      });
  return streams.norms;
}
