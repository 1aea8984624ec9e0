//===- TripCount.cpp ------------------------------------------------------===//

#include "pipemesh/Lower/TripCount.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pipemesh;

/// The one integer that a value is, where it is a constant.
static std::optional<int64_t> getInteger(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  APInt number = elements.getSplatValue<APInt>();
  if (number.getBitWidth() > 64)
    return std::nullopt;
  return elements.getElementType().isUnsignedInteger()
             ? static_cast<int64_t>(number.getZExtValue())
             : number.getSExtValue();
}

/// The number of the loop's carry that a region's argument is.
static std::optional<unsigned> getCarry(Value value, Block &block) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg || arg.getOwner() != &block)
    return std::nullopt;
  return arg.getArgNumber();
}

std::optional<int64_t> pipemesh::countTrips(stablehlo::WhileOp op) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  auto compare = cond.getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  auto carry = getCarry(compare.getLhs(), cond);
  auto limit = getInteger(compare.getRhs());
  if (!carry || !limit)
    return std::nullopt;
  auto first = getInteger(op->getOperand(*carry));
  auto add = body.getTerminator()
                 ->getOperand(*carry)
                 .getDefiningOp<stablehlo::AddOp>();
  if (!first || !add)
    return std::nullopt;
  Value other = add.getRhs();
  if (getCarry(add.getLhs(), body) != carry) {
    other = add.getLhs();
    if (getCarry(add.getRhs(), body) != carry)
      return std::nullopt;
  }
  auto step = getInteger(other);
  if (!step || *step == 0)
    return std::nullopt;
  using stablehlo::ComparisonDirection;
  ComparisonDirection direction = compare.getComparisonDirection();
  int64_t distance = *limit - *first, stride = *step;
  switch (direction) {
  case ComparisonDirection::LE:
    ++distance;
    [[fallthrough]];
  case ComparisonDirection::LT:
    break;
  case ComparisonDirection::GE:
    --distance;
    [[fallthrough]];
  case ComparisonDirection::GT:
    distance = -distance;
    stride = -stride;
    break;
  default:
    return std::nullopt;
  }
  if (distance <= 0)
    return 0;
  if (stride <= 0)
    return std::nullopt;
  return llvm::divideCeil(distance, stride);
}
