//===- Reduction.cpp - gradients of reduce --------------------------------===//

#include "Models.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

namespace {
enum class Kind { Sum, Extremum, Product, Other };
} // namespace

static Kind getKind(ReduceOp op) {
  Operation *body = op.getAppliedOp();
  if (!body)
    return Kind::Other;
  if (isa<AddOp>(body))
    return Kind::Sum;
  if (isa<MaxOp, MinOp>(body))
    return Kind::Extremum;
  return isa<MulOp>(body) ? Kind::Product : Kind::Other;
}

/// The dimensions that are not reduced.
static SmallVector<int64_t> getKeptDims(ReduceOp op, int64_t rank) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(op.getDimensions(), dim))
      kept.push_back(dim);
  return kept;
}

/// Each of the elements that attain the extremum gets an equal part.
static Value extremumGradient(ReduceOp op, GradientBuilder &g, Value dy) {
  Value x = op.getInputs()[0];
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> kept = getKeptDims(op, type.getRank());
  Value extremum = g.broadcast(op->getResult(0), type.getShape(), kept);
  Value attained = g.convert(g.compare(ComparisonDirection::EQ, x, extremum),
                             type.getElementType());
  Value count = g.reduceSum(attained, op.getDimensions());
  // The initial value may lie beyond all elements: then none attains it.
  Value part = g.divide(dy, MaxOp::create(g.builder, g.loc, count,
                                          g.splat(count.getType(), 1.0)));
  return g.multiply(g.broadcast(part, type.getShape(), kept), attained);
}

static Value reduceGradient(ReduceOp op, GradientBuilder &g, unsigned operand,
                            Value dy) {
  if (getKind(op) == Kind::Extremum)
    return extremumGradient(op, g, dy);
  if (operand == 1)
    return g.reduceSum(dy);
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  return g.broadcast(dy, type.getShape(), getKeptDims(op, type.getRank()));
}

namespace {
struct ReduceModel
    : DifferentiableOpInterface::ExternalModel<ReduceModel, ReduceOp> {
  bool isDifferentiable(Operation *op, unsigned operand) const {
    return carriesGradient(op->getOperand(operand).getType());
  }
  std::string getUnsupportedReason(Operation *op, unsigned operand) const {
    switch (getKind(cast<ReduceOp>(op))) {
    case Kind::Sum:
      return "";
    case Kind::Extremum:
      return operand == 0 ? "" : "the initial value of a maximum or minimum";
    case Kind::Product:
      return "a product; as the exponential of a sum of logarithms it has one";
    case Kind::Other:
      break;
    }
    return "its body is none of add, maximum and minimum";
  }
  FailureOr<Value> buildCotangent(Operation *op, OpBuilder &builder,
                                  unsigned operand,
                                  ValueRange cotangents) const {
    GradientBuilder g(builder, op->getLoc());
    return reduceGradient(cast<ReduceOp>(op), g, operand, cotangents[0]);
  }
};
} // namespace

void pipemesh::attachReductionGradients(MLIRContext *context) {
  ReduceOp::attachInterface<ReduceModel>(*context);
}
