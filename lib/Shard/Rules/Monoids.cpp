//===- Monoids.cpp - bodies that join elements ----------------------------===//

#include "Monoids.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

Operation *pipemesh::getAppliedOp(Region &body) {
  if (!body.hasOneBlock())
    return nullptr;
  Block &block = body.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation *op = &block.front();
  auto end = dyn_cast<ReturnOp>(block.back());
  if (!end || op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      end->getNumOperands() != 1 || end->getOperand(0) != op->getResult(0) ||
      op->getResult(0).getType() != block.getArgument(0).getType())
    return nullptr;
  bool isInOrder = op->getOperand(0) == block.getArgument(0) &&
                   op->getOperand(1) == block.getArgument(1);
  bool isSwapped = op->getOperand(0) == block.getArgument(1) &&
                   op->getOperand(1) == block.getArgument(0);
  if (!isInOrder && !isSwapped)
    return nullptr;
  return isa<AddOp, MulOp, MaxOp, MinOp, AndOp, OrOp, XorOp>(op) ? op : nullptr;
}

std::optional<ReductionKind> pipemesh::getMonoidKind(Operation *body,
                                                     Type element) {
  bool isBoolean = element.isInteger(1);
  if (isa<AddOp>(body))
    return isBoolean ? ReductionKind::Max : ReductionKind::Sum;
  if (isa<MaxOp>(body) && !isa<ComplexType>(element))
    return ReductionKind::Max;
  if (isa<MinOp>(body) && !isa<ComplexType>(element))
    return ReductionKind::Min;
  if (isBoolean && isa<OrOp>(body))
    return ReductionKind::Max;
  if (isBoolean && isa<AndOp, MulOp>(body))
    return ReductionKind::Min;
  return std::nullopt;
}

static DenseElementsAttr getFloat(RankedTensorType type, APFloat value) {
  return DenseElementsAttr::get(type, value);
}

/// The smallest number of the type, or the largest one; infinite where it can.
static APFloat getExtreme(const llvm::fltSemantics &semantics, bool isSmallest) {
  APFloat infinite = APFloat::getInf(semantics, isSmallest);
  return infinite.isInfinity() ? infinite
                               : APFloat::getLargest(semantics, isSmallest);
}

DenseElementsAttr pipemesh::getNeutralOf(Operation *body,
                                         RankedTensorType type) {
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    if (!isa<AddOp, MulOp>(body))
      return {};
    const llvm::fltSemantics &semantics =
        cast<FloatType>(complex.getElementType()).getFloatSemantics();
    APFloat real = isa<MulOp>(body) ? APFloat::getOne(semantics)
                                    : APFloat::getZero(semantics);
    return DenseElementsAttr::get(
        type, std::complex<APFloat>(real, APFloat::getZero(semantics)));
  }
  if (auto real = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    if (isa<AddOp>(body))
      return getFloat(type, APFloat::getZero(semantics));
    if (isa<MulOp>(body))
      return getFloat(type, APFloat::getOne(semantics));
    if (isa<MaxOp, MinOp>(body))
      return getFloat(type, getExtreme(semantics, isa<MaxOp>(body)));
    return {};
  }
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return {};
  unsigned width = integer.getWidth();
  bool isSigned = !integer.isUnsigned() && width > 1;
  if (isa<AddOp, OrOp, XorOp>(body))
    return DenseElementsAttr::get(type, APInt::getZero(width));
  if (isa<AndOp>(body))
    return DenseElementsAttr::get(type, APInt::getAllOnes(width));
  if (isa<MulOp>(body))
    return DenseElementsAttr::get(type, APInt(width, 1));
  if (isa<MaxOp>(body))
    return DenseElementsAttr::get(type, isSigned
                                            ? APInt::getSignedMinValue(width)
                                            : APInt::getMinValue(width));
  if (isa<MinOp>(body))
    return DenseElementsAttr::get(type, isSigned
                                            ? APInt::getSignedMaxValue(width)
                                            : APInt::getMaxValue(width));
  return {};
}

static DenseElementsAttr getSplatConstant(Value value) {
  // The rule is the same before and after reshards are put in.
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<BroadcastInDimOp, pm::ReshardOp>(op))
      break;
    value = op->getOperand(0);
  }
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(constant);
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}

bool pipemesh::isNeutral(Value value, Operation *body) {
  DenseElementsAttr elements = getSplatConstant(value);
  if (!elements)
    return false;
  auto type = cast<RankedTensorType>(elements.getType());
  DenseElementsAttr neutral = getNeutralOf(body, type);
  if (!neutral)
    return false;
  // A negative zero adds nothing either.
  if (isa<AddOp>(body) && isa<FloatType>(type.getElementType()))
    return elements.getSplatValue<APFloat>().isZero();
  return elements == neutral;
}

ReductionKind pipemesh::foundKind(Value result) {
  return cast<RankedTensorType>(result.getType()).getElementType().isInteger(1)
             ? ReductionKind::Max
             : ReductionKind::Sum;
}

bool pipemesh::isSplatConstant(Value value) {
  return static_cast<bool>(getSplatConstant(value));
}

int64_t pipemesh::countElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}
