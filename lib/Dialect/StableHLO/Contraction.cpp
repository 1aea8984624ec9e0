// dot_general, reduce and sort: inference, text and verification.
#include "AsmDirectives.h"
#include "Dims.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOContractionOps.cpp.inc"

void StableHLODialect::addContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOContractionOps.cpp.inc"
      >();
}

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType scalarOf(Type tensor) {
  return RankedTensorType::get({},
                               cast<RankedTensorType>(tensor).getElementType());
}

// ---- dot_general -----------------------------------------------------------

/// Refuses pairs of dimensions that are not as many or not of the same size.
static LogicalResult checkPairs(std::optional<Location> location,
                                StringRef kind, RankedTensorType lhs,
                                RankedTensorType rhs,
                                ArrayRef<int64_t> lhsDims,
                                ArrayRef<int64_t> rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return emitOptionalError(location, lhsDims.size(), " ", kind,
                             " dimensions of the left operand, but ",
                             rhsDims.size(), " of the right one");
  for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
    if (lhs.getDimSize(l) != rhs.getDimSize(r))
      return emitOptionalError(
          location, kind, " dimension ", l, " of the left operand has size ",
          lhs.getDimSize(l), ", but dimension ", r,
          " of the right operand has size ", rhs.getDimSize(r));
  return success();
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  DotDimensionNumbersAttr dims = adaptor.getDotDimensionNumbers();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(location, "operands have element types ",
                             lhs.getElementType(), " and ",
                             rhs.getElementType());
  SmallVector<int64_t> lhsUsed(dims.getLhsBatchingDimensions());
  SmallVector<int64_t> rhsUsed(dims.getRhsBatchingDimensions());
  llvm::append_range(lhsUsed, dims.getLhsContractingDimensions());
  llvm::append_range(rhsUsed, dims.getRhsContractingDimensions());
  if (failed(checkDims(location, "the left operand's list", lhsUsed,
                       lhs.getRank())) ||
      failed(checkDims(location, "the right operand's list", rhsUsed,
                       rhs.getRank())) ||
      failed(checkPairs(location, "batching", lhs, rhs,
                        dims.getLhsBatchingDimensions(),
                        dims.getRhsBatchingDimensions())) ||
      failed(checkPairs(location, "contracting", lhs, rhs,
                        dims.getLhsContractingDimensions(),
                        dims.getRhsContractingDimensions())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : dims.getLhsBatchingDimensions())
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t i = 0; i < lhs.getRank(); ++i)
    if (!llvm::is_contained(lhsUsed, i))
      shape.push_back(lhs.getDimSize(i));
  for (int64_t i = 0; i < rhs.getRank(); ++i)
    if (!llvm::is_contained(rhsUsed, i))
      shape.push_back(rhs.getDimSize(i));
  types.push_back(lhs.clone(shape));
  return success();
}

bool DotGeneralOp::isCompatibleReturnTypes(TypeRange inferred,
                                           TypeRange actual) {
  return arePromotable(inferred, actual);
}

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                         Value rhs, ArrayRef<int64_t> lhsBatching,
                         ArrayRef<int64_t> rhsBatching,
                         ArrayRef<int64_t> lhsContracting,
                         ArrayRef<int64_t> rhsContracting, Type elementType) {
  auto dims =
      DotDimensionNumbersAttr::get(builder.getContext(), lhsBatching,
                                   rhsBatching, lhsContracting, rhsContracting);
  build(builder, state, lhs, rhs, dims, ArrayAttr(), DotAlgorithmAttr());
  if (elementType)
    state.types.front() =
        cast<RankedTensorType>(state.types.front()).clone(elementType);
}

LogicalResult DotGeneralOp::verify() {
  if (ArrayAttr precision = getPrecisionConfigAttr())
    if (precision.size() != 2)
      return emitOpError() << "has " << precision.size()
                           << " precisions for its 2 operands";
  if (DotAlgorithmAttr algorithm = getAlgorithmAttr())
    for (int64_t count :
         {algorithm.getLhsComponentCount(), algorithm.getRhsComponentCount(),
          algorithm.getNumPrimitiveOperations()})
      if (count < 1)
        return emitOpError() << "has an algorithm with a count of " << count;
  return success();
}

// ---- reduce ----------------------------------------------------------------

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  size_t operands = adaptor.getOperands().size();
  if (operands == 0 || operands % 2 != 0)
    return emitOptionalError(location, "expected an initial value for each of "
                                       "one input or more, got ",
                             operands, " operands");
  RankedTensorType first = tensorType(adaptor.getInputs().front());
  ArrayRef<int64_t> dims = adaptor.getDimensions();
  if (failed(checkDims(location, "dimensions", dims, first.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < first.getRank(); ++i)
    if (!llvm::is_contained(dims, i))
      shape.push_back(first.getDimSize(i));
  for (auto [i, input, init] :
       llvm::enumerate(adaptor.getInputs(), adaptor.getInitValues())) {
    RankedTensorType type = tensorType(input);
    if (type.getShape() != first.getShape())
      return emitOptionalError(location, "input ", i, " of type ", type,
                               " has another shape than the first, of type ",
                               first);
    if (init.getType() != scalarOf(type))
      return emitOptionalError(location, "initial value ", i, " of type ",
                               init.getType(), " is not a rank-0 tensor of ",
                               type.getElementType());
    types.push_back(type.clone(shape));
  }
  return success();
}

bool ReduceOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return arePromotable(inferred, actual);
}

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange inputs, ValueRange initValues,
                     ArrayRef<int64_t> dimensions) {
  state.addOperands(inputs);
  state.addOperands(initValues);
  state.getOrAddProperties<Properties>().dimensions =
      builder.getDenseI64ArrayAttr(dimensions);
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  // A malformed reduction gets no results, and the verifier says why.
  SmallVector<Type> types;
  ReduceOp::Adaptor adaptor(state.operands, state.attributes.getDictionary(
                                                builder.getContext()),
                            state.getOrAddProperties<Properties>(),
                            state.regions);
  if (succeeded(inferReturnTypes(builder.getContext(), state.location, adaptor,
                                 types)))
    state.addTypes(types);
  for (int side = 0; side < 2; ++side)
    for (Value input : inputs)
      block.addArgument(scalarOf(input.getType()), state.location);
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, Value input,
                     Value initValue, ArrayRef<int64_t> dimensions,
                     StringRef bodyOp) {
  build(builder, state, ValueRange(input), ValueRange(initValue), dimensions);
  OpBuilder::InsertionGuard guard(builder);
  Block &block = state.regions.front()->front();
  builder.setInsertionPointToStart(&block);
  OperationState inner(state.location, bodyOp, block.getArguments(),
                       {scalarOf(input.getType())}, {});
  Operation *op = builder.create(inner);
  ReturnOp::create(builder, state.location, op->getResults());
}

Operation *ReduceOp::getAppliedOp() {
  if (getNumOperands() != 2 || getNumResults() != 1 || !getBody().hasOneBlock())
    return nullptr;
  Block &block = getBody().front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation *op = &block.front();
  auto terminator = dyn_cast<ReturnOp>(block.back());
  Type scalar = block.getArgument(0).getType();
  if (!terminator || !op->hasTrait<Elementwise>() || op->getNumOperands() != 2 ||
      op->getNumResults() != 1 || op->getOperand(0) != block.getArgument(0) ||
      op->getOperand(1) != block.getArgument(1) ||
      terminator->getNumOperands() != 1 ||
      terminator->getOperand(0) != op->getResult(0) ||
      block.getArgument(1).getType() != scalar ||
      op->getResult(0).getType() != scalar || !op->getAttrs().empty() ||
      !terminator->getAttrs().empty())
    return nullptr;
  auto result = dyn_cast<RankedTensorType>(getResult(0).getType());
  return result && scalarOf(result) == scalar ? op : nullptr;
}

LogicalResult ReduceOp::verifyRegions() {
  SmallVector<Type> scalars;
  for (Type type : getResultTypes())
    scalars.push_back(scalarOf(type));
  SmallVector<Type> arguments(scalars);
  llvm::append_range(arguments, scalars);
  return checkRegion(*this, "the body", getBody(), arguments, scalars);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  llvm::interleaveComma(llvm::zip(getInputs(), getInitValues()), printer,
                        [&](auto pair) {
                          printer << "(" << std::get<0>(pair)
                                  << " init: " << std::get<1>(pair) << ")";
                        });
  Operation *applied = getAppliedOp();
  if (applied)
    printer << " applies " << applied->getName().getStringRef();
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << "]";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (applied)
    return;
  printer.printNewline();
  printer << " reducer";
  Block &block = getBody().front();
  size_t count = getInputs().size();
  for (size_t i = 0; i < count; ++i) {
    printer << (i == 0 ? "(" : " (");
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(count + i));
    printer << ")";
  }
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// The body of `applies`: the op on two arguments of the result's elements.
static ParseResult buildApplied(OpAsmParser &parser, SMLoc loc,
                                OperationName name, OperationState &result) {
  if (result.operands.size() != 2 || result.types.size() != 1 ||
      !isa<RankedTensorType>(result.types[0]))
    return parser.emitError(loc)
           << "'applies' is the form of one ranked input and one result";
  if (!name.isRegistered() || !name.hasTrait<Elementwise>())
    return parser.emitError(loc)
           << "'" << name << "' is not an elementwise op of two operands";
  Location location = parser.getEncodedSourceLoc(loc);
  Type scalar = scalarOf(result.types[0]);
  Block &block = result.addRegion()->emplaceBlock();
  block.addArguments({scalar, scalar}, {location, location});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToStart(&block);
  OperationState inner(location, name);
  inner.addOperands(block.getArguments());
  inner.addTypes(scalar);
  Operation *op = builder.create(inner);
  ReturnOp::create(builder, location, op->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc operandsLoc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));

  std::optional<OperationName> applied;
  SMLoc appliedLoc;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    appliedLoc = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    applied = *name;
  }

  SmallVector<int64_t> dims;
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       return parser.parseInteger(
                                           dims.emplace_back());
                                     }) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(type))
    return failure();
  inputs.append(inits);
  if (parser.resolveOperands(inputs, type.getInputs(), operandsLoc,
                             result.operands))
    return failure();
  result.addTypes(type.getResults());
  result.getOrAddProperties<Properties>().dimensions =
      parser.getBuilder().getDenseI64ArrayAttr(dims);
  if (applied)
    return buildApplied(parser, appliedLoc, *applied, result);

  if (parser.parseKeyword("reducer"))
    return failure();
  SmallVector<OpAsmParser::Argument> accumulated, elements;
  for (size_t i = 0; i < inits.size(); ++i)
    if (parser.parseLParen() ||
        parser.parseArgument(accumulated.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() ||
        parser.parseArgument(elements.emplace_back(), /*allowType=*/true) ||
        parser.parseRParen())
      return failure();
  accumulated.append(elements);
  return parser.parseRegion(*result.addRegion(), accumulated);
}

// ---- sort ------------------------------------------------------------------

LogicalResult SortOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

LogicalResult SortOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "has nothing to sort";
  RankedTensorType first = tensorType(getInputs().front());
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (tensorType(input).getShape() != first.getShape())
      return emitOpError() << "input " << i << " of type " << input.getType()
                           << " has another shape than the first, of type "
                           << first;
  int64_t rank = first.getRank(), dim = getDimension();
  if (dim < -rank || dim >= rank)
    return emitOpError() << "sorts along dimension " << dim
                         << " of tensors of rank " << rank;
  return success();
}

LogicalResult SortOp::verifyRegions() {
  SmallVector<Type> arguments;
  for (Value input : getInputs())
    arguments.append(2, scalarOf(input.getType()));
  return checkRegion(
      *this, "the comparator", getComparator(), arguments,
      TypeRange(RankedTensorType::get({}, IntegerType::get(getContext(), 1))));
}
