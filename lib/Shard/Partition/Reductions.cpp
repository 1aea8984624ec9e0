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

/// One piece of what each rank has made to each rank, along the dimension that is
/// then the first one.
static Value exchangeParts(Partitioner &p, Location loc, Value part,
                           int64_t split, int64_t members, const Axes &axes) {
  auto type = cast<RankedTensorType>(part.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = members;
  shape[split] = llvm::divideCeil(shape[split], members);
  auto op = pm::AllToAllOp::create(
      p.builder, loc, type.clone(shape), part,
      p.builder.getI64IntegerAttr(split), p.builder.getI64IntegerAttr(0),
      p.axesAttr(axes), p.mesh.symbol());
  p.setPhase(op);
  return op;
}

/// The dimension of a result of which each rank should join a piece for all, or
/// -1 where it is faster that every rank joins all of it.
static int64_t findShared(Partitioner &p, ReduceOp op, Type made,
                          int64_t members, const Axes &axes) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(made).getShape();
  const auto *largest = std::max_element(shape.begin(), shape.end());
  if (largest == shape.end() || *largest == 0)
    return -1;
  Link link = p.mesh.linkOf(axes.front());
  for (StringAttr axis : axes)
    link = slowerOf(link, p.mesh.linkOf(axis));
  double gathered = 0, shared = 0;
  for (Value result : op->getResults()) {
    double bytes = byteSizeOf(p.localTypeOf(result)) * (members - 1);
    double piece =
        bytes / *largest * llvm::divideCeil(*largest, members);
    gathered += link.latency + bytes / link.bandwidth;
    shared += (link.latency + piece / link.bandwidth) *
              (result.use_empty() ? 1 : 2);
  }
  return shared < gathered ? largest - shape.begin() : -1;
}

/// Each rank reduces its block; the results are gathered and reduced again, or
/// each rank gets a piece of all of them, and what it makes of it is gathered.
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
  int64_t shared =
      findShared(p, op, own->getResult(0).getType(), members, axes);
  p.why = shared < 0 ? "what each rank found is compared"
                     : "each rank has compared a part, and all need the whole";
  SmallVector<Value> parts;
  SmallVector<Type> types;
  for (Value part : own->getResults()) {
    SmallVector<int64_t> shape(TensorBuilder::shapeOf(part));
    shape.insert(shape.begin(), 1);
    Value row = b.reshape(part, shape);
    parts.push_back(shared < 0 ? p.allGather(op.getLoc(), row, 0, members, axes)
                               : exchangeParts(p, op.getLoc(), row, shared + 1,
                                               members, axes));
    RankedTensorType type = TensorBuilder::typeOf(parts.back());
    types.push_back(type.clone(type.getShape().drop_front()));
  }
  parts.append(p.locals(op.getInitValues()));
  auto joined = cast<ReduceOp>(p.copy(op, parts, types));
  joined.setDimensions({0});
  for (auto [result, value] :
       llvm::zip(op->getResults(), joined->getResults().take_front(count))) {
    Value whole = value;
    if (shared >= 0 && !result.use_empty())
      whole = p.allGather(op.getLoc(), value, shared,
                          p.localTypeOf(result).getDimSize(shared), axes);
    p.define(result, whole);
  }
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
