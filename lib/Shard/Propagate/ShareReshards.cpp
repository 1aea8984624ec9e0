//===- ShareReshards.cpp - what is resharded once arrives once ------------===//

#include "ShareReshards.h"
#include "../ShardingAlgebra.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

/// The reshard of `value` in this block, in front of `op`, whose result transposed
/// lies as `target` says.
static pm::ReshardOp findTransposed(Value value, ArrayRef<int64_t> permutation,
                                    pm::ReshardOp op) {
  ValueSharding target(op.getTarget());
  for (Operation *user : value.getUsers()) {
    auto other = dyn_cast<pm::ReshardOp>(user);
    if (!other || other->getBlock() != op->getBlock() ||
        !other->isBeforeInBlock(op) ||
        other->getAttr(pm::kPhaseAttr) != op->getAttr(pm::kPhaseAttr))
      continue;
    ValueSharding found(other.getTarget());
    if (!found.partial.empty())
      continue;
    bool same = true;
    for (auto [dim, from] : llvm::enumerate(permutation))
      same &= target.dims[dim] == found.dims[from];
    if (same)
      return other;
  }
  return {};
}

void pipemesh::shareReshards(func::FuncOp function) {
  SmallVector<pm::ReshardOp> candidates;
  function.walk([&](pm::ReshardOp op) {
    if (op.getInput().getDefiningOp<stablehlo::TransposeOp>() &&
        op.getSource().getPartialAxes().empty() &&
        op.getTarget().getPartialAxes().empty())
      candidates.push_back(op);
  });
  for (pm::ReshardOp op : candidates) {
    auto transpose = op.getInput().getDefiningOp<stablehlo::TransposeOp>();
    pm::ReshardOp first =
        findTransposed(transpose.getOperand(), transpose.getPermutation(), op);
    if (!first)
      continue;
    OpBuilder builder(op);
    auto made = cast<stablehlo::TransposeOp>(builder.clone(*transpose));
    made->setOperand(0, first.getResult());
    made->setAttr(pm::kShardingsAttr, builder.getArrayAttr(op.getTarget()));
    op.getResult().replaceAllUsesWith(made.getResult());
    op.erase();
    if (transpose->use_empty())
      transpose.erase();
  }
}
