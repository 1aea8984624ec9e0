//===- Reductions.cpp - reductions that no collective joins ---------------===//

#include "../Rules/Monoids.h"
#include "IndexMath.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// What a local reduction starts from: the neutral element where the body has
/// one, since the initial value is joined once, in the end. Otherwise the
/// initial value, which is neutral for any other body.
static SmallVector<Value> localInits(Partitioner &p, ReduceOp op) {
  SmallVector<Value> inits = p.locals(op.getInitValues());
  Operation *body = getAppliedOp(op.getBody());
  if (inits.size() != 1 || !body)
    return inits;
  auto type = cast<RankedTensorType>(inits[0].getType());
  if (DenseElementsAttr neutral = getNeutralOf(body, type))
    inits[0] = ConstantOp::create(p.builder, op.getLoc(), type, neutral);
  return inits;
}

/// Each rank reduces its block; the results are gathered and reduced again.
static LogicalResult reduceTwice(Partitioner &p, ReduceOp op,
                                 ArrayRef<Cut> cuts, const Axes &axes) {
  BlockBuilder b(p, op.getLoc());
  unsigned count = op.getInputs().size();
  SmallVector<Value> inits = localInits(p, op);
  SmallVector<Value> operands = p.locals(op.getInputs());
  for (auto [value, init] : llvm::zip(operands, inits))
    for (int64_t dim : op.getDimensions())
      if (cuts[dim].isUneven())
        value = p.mask(op.getLoc(), value, dim, cuts[dim], init);
  operands.append(inits);
  Operation *own = p.copy(op, operands);

  int64_t members = 1;
  for (StringAttr axis : axes)
    members *= p.mesh.sizeOf(axis);
  SmallVector<Value> parts;
  for (Value part : own->getResults()) {
    SmallVector<int64_t> shape(TensorBuilder::shapeOf(part));
    shape.insert(shape.begin(), 1);
    parts.push_back(
        p.allGather(op.getLoc(), b.reshape(part, shape), 0, members, axes));
  }
  parts.append(p.locals(op.getInitValues()));
  auto joined = cast<ReduceOp>(p.copy(op, parts));
  joined.setDimensions({0});
  p.define(op->getResults(), joined->getResults().take_front(count));
  return success();
}

static LogicalResult convertReduce(Partitioner &p, ReduceOp op) {
  ShardingRule rule = p.ruleOf(op);
  SmallVector<Cut> cuts = p.cutsOf(op.getInputs()[0]);
  Axes axes;
  for (int64_t dim : op.getDimensions())
    if (rule.factors[rule.operands[0][dim][0]].kind == FactorKind::Exchanged)
      axes.append(cuts[dim].axes);
  if (axes.empty())
    return p.convertPlain(op);
  for (StringAttr axis : axes)
    if (p.mesh.isTemporal(axis))
      return op.emitError("reduces a dimension that axis '")
             << axis.getValue()
             << "' cuts in time, and its results cannot be joined; constrain "
                "the operand to be whole";
  return reduceTwice(p, op, cuts, axes);
}

void pipemesh::registerReductionHandlers(OpHandlers &handlers) {
  handlers.add<ReduceOp, convertReduce>();
}
