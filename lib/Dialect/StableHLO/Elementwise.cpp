// Elementwise ops: inference, verification and folds.
#include "AsmDirectives.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOElementwiseOps.cpp.inc"

void StableHLODialect::addElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOElementwiseOps.cpp.inc"
      >();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The type of booleans in the shape of `value`.
static RankedTensorType predicateType(Value value) {
  return tensorType(value).clone(IntegerType::get(value.getContext(), 1));
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(predicateType(adaptor.getX()));
  return success();
}

/// The type of real numbers in the shape of a tensor of real or complex ones.
static RankedTensorType partType(Value value) {
  RankedTensorType type = tensorType(value);
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  return complex ? type.clone(complex.getElementType()) : type;
}

LogicalResult AbsOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  types.push_back(partType(adaptor.getOperand()));
  return success();
}

LogicalResult RealOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(partType(adaptor.getOperand()));
  return success();
}

LogicalResult ImagOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(partType(adaptor.getOperand()));
  return success();
}

LogicalResult ComplexOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType part = tensorType(adaptor.getLhs());
  types.push_back(part.clone(ComplexType::get(part.getElementType())));
  return success();
}

LogicalResult ReducePrecisionOp::verify() {
  int64_t exponent = getExponentBits(), mantissa = getMantissaBits();
  if (exponent < 1 || exponent > 11 || mantissa < 0 || mantissa > 52)
    return emitOpError() << "rounds to e" << exponent << "m" << mantissa
                         << ", but formats are from e1m0 to e11m52";
  return success();
}

void ConvertOp::build(OpBuilder &builder, OperationState &state, Value operand,
                      Type elementType) {
  build(builder, state, tensorType(operand).clone(elementType), operand);
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : OpFoldResult();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(predicateType(adaptor.getLhs()));
  return success();
}

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                      Value rhs, ComparisonDirection direction) {
  Type element = tensorType(lhs).getElementType();
  ComparisonType type = ComparisonType::FLOAT;
  if (isa<IntegerType>(element))
    type = element.isUnsignedInteger() || element.isInteger(1)
               ? ComparisonType::UNSIGNED
               : ComparisonType::SIGNED;
  MLIRContext *context = builder.getContext();
  build(builder, state, lhs, rhs,
        ComparisonDirectionAttr::get(context, direction),
        ComparisonTypeAttr::get(context, type));
}

LogicalResult CompareOp::verify() {
  std::optional<ComparisonType> type = getCompareType();
  if (!type || *type == ComparisonType::NOTYPE)
    return success();
  Type element = getLhs().getType().getElementType();
  bool fits = false;
  switch (*type) {
  case ComparisonType::NOTYPE:
    fits = true;
    break;
  case ComparisonType::FLOAT:
    fits = isa<FloatType, ComplexType>(element);
    break;
  case ComparisonType::TOTALORDER:
    fits = isa<FloatType>(element);
    break;
  case ComparisonType::SIGNED:
    fits = element.isSignlessInteger() && !element.isInteger(1);
    break;
  case ComparisonType::UNSIGNED:
    fits = element.isUnsignedInteger() || element.isSignlessInteger(1);
    break;
  }
  if (fits)
    return success();
  return emitOpError() << "compares elements of type " << element << " as "
                       << stringifyComparisonType(*type);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType pred = tensorType(adaptor.getPred());
  RankedTensorType onTrue = tensorType(adaptor.getOnTrue());
  if (onTrue != adaptor.getOnFalse().getType())
    return emitOptionalError(location, "'on_true' has type ", onTrue,
                             ", but 'on_false' has type ",
                             adaptor.getOnFalse().getType());
  if (pred.getRank() != 0 && pred.getShape() != onTrue.getShape())
    return emitOptionalError(location, "'pred' of type ", pred,
                             " has neither rank 0 nor the shape of ", onTrue);
  types.push_back(onTrue);
  return success();
}

LogicalResult ClampOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  auto check = [&](StringRef name, Value bound) -> LogicalResult {
    RankedTensorType type = tensorType(bound);
    if (type.getElementType() != operand.getElementType() ||
        (type.getRank() != 0 && type.getShape() != operand.getShape()))
      return emitOptionalError(location, "'", name, "' of type ", type,
                               " is neither a rank-0 tensor of ",
                               operand.getElementType(),
                               " nor of the operand's type ", operand);
    return success();
  };
  if (failed(check("min", adaptor.getMin())) ||
      failed(check("max", adaptor.getMax())))
    return failure();
  types.push_back(operand);
  return success();
}
