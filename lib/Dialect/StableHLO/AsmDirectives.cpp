// Custom directives of the assembly formats.
#include "AsmDirectives.h"

using namespace mlir;

namespace pipemesh::stablehlo {

ParseResult parseSameTypeList(OpAsmParser &parser, ArrayRef<Type *> types) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function) {
    for (Type *t : types)
      *t = type;
    return success();
  }
  size_t operands = types.size() - 1;
  if (function.getNumInputs() != operands || function.getNumResults() != 1)
    return parser.emitError(loc)
           << "expected the types of " << operands << " operand"
           << (operands == 1 ? "" : "s") << " and of one result, got "
           << function;
  for (auto [t, input] : llvm::zip(types.drop_back(), function.getInputs()))
    *t = input;
  *types.back() = function.getResult(0);
  return success();
}

void printSameTypeList(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types)) {
    printer << types.back();
    return;
  }
  printer.printFunctionalType(types.drop_back(), types.take_back());
}

ParseResult parseSelectType(OpAsmParser &parser, Type &pred, Type &onTrue,
                            Type &onFalse, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function) {
    pred = type;
    if (parser.parseComma() || parser.parseType(onTrue))
      return failure();
    onFalse = result = onTrue;
    return success();
  }
  if (function.getNumInputs() != 3 || function.getNumResults() != 1)
    return parser.emitError(loc)
           << "expected the types of 3 operands and of one result, got "
           << function;
  pred = function.getInput(0);
  onTrue = function.getInput(1);
  onFalse = function.getInput(2);
  result = function.getResult(0);
  return success();
}

void printSelectType(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue,
                     Type onFalse, Type result) {
  if (onTrue == onFalse && onTrue == result) {
    printer << pred << ", " << result;
    return;
  }
  printer.printFunctionalType(ArrayRef<Type>{pred, onTrue, onFalse},
                              ArrayRef<Type>{result});
}

ParseResult parsePairwiseSameTypes(OpAsmParser &parser,
                                   SmallVectorImpl<Type> &operands,
                                   SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void printPairwiseSameTypes(OpAsmPrinter &printer, Operation *,
                            TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult parseOperandsThenComma(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printOperandsThenComma(OpAsmPrinter &printer, Operation *,
                            OperandRange operands) {
  llvm::interleave(operands, printer, [&](Value v) { printer << v << ","; },
                   " ");
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    if (failed(parser.parseOptionalColon())) {
      stride.push_back(1);
      return success();
    }
    return parser.parseInteger(stride.emplace_back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange))
    return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *,
                      DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides) {
  printer << "[";
  llvm::interleaveComma(
      llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()),
      printer, [&](auto range) {
        auto [start, limit, stride] = range;
        printer << start << ":" << limit;
        if (stride != 1)
          printer << ":" << stride;
      });
  printer << "]";
}

static ParseResult parseDims(OpAsmParser &parser, SmallVector<int64_t> &dims) {
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(dims.emplace_back());
      });
}

static ParseResult parseDimsPair(OpAsmParser &parser,
                                 SmallVector<int64_t> &lhs,
                                 SmallVector<int64_t> &rhs) {
  return failure(parser.parseEqual() || parseDims(parser, lhs) ||
                 parser.parseKeyword("x") || parseDims(parser, rhs));
}

static void printDimsPair(OpAsmPrinter &printer, ArrayRef<int64_t> lhs,
                          ArrayRef<int64_t> rhs) {
  printer << " = [";
  llvm::interleaveComma(lhs, printer);
  printer << "] x [";
  llvm::interleaveComma(rhs, printer);
  printer << "]";
}

ParseResult parseDotDimensions(OpAsmParser &parser,
                               DotDimensionNumbersAttr &dims) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (parseDimsPair(parser, lhsBatching, rhsBatching) || parser.parseComma()))
    return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parseDimsPair(parser, lhsContracting, rhsContracting))
    return failure();
  dims = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatching,
                                      rhsBatching, lhsContracting,
                                      rhsContracting);
  return success();
}

void printDotDimensions(OpAsmPrinter &printer, Operation *,
                        DotDimensionNumbersAttr dims) {
  if (!dims.getLhsBatchingDimensions().empty() ||
      !dims.getRhsBatchingDimensions().empty()) {
    printer << "batching_dims";
    printDimsPair(printer, dims.getLhsBatchingDimensions(),
                  dims.getRhsBatchingDimensions());
    printer << ", ";
  }
  printer << "contracting_dims";
  printDimsPair(printer, dims.getLhsContractingDimensions(),
                dims.getRhsContractingDimensions());
}

ParseResult parsePrecisionAndAlgorithm(OpAsmParser &parser,
                                       ArrayAttr &precision,
                                       DotAlgorithmAttr &algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    if (!precision && !algorithm &&
        succeeded(parser.parseOptionalKeyword("precision"))) {
      SmallVector<Attribute> values;
      auto parseValue = [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        std::optional<Precision> value = symbolizePrecision(name);
        if (!value)
          return parser.emitError(loc)
                 << "unknown precision '" << name
                 << "', expected DEFAULT, HIGH or HIGHEST";
        values.push_back(PrecisionAttr::get(parser.getContext(), *value));
        return success();
      };
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                         parseValue))
        return failure();
      precision = parser.getBuilder().getArrayAttr(values);
      continue;
    }
    if (algorithm)
      return parser.emitError(parser.getCurrentLocation())
             << "nothing follows the algorithm";
    if (parser.parseKeyword("algorithm", " or 'precision', each once") ||
        parser.parseEqual())
      return failure();
    auto parsed = dyn_cast_or_null<DotAlgorithmAttr>(
        DotAlgorithmAttr::parse(parser, Type()));
    if (!parsed)
      return failure();
    algorithm = parsed;
  }
  return success();
}

void printPrecisionAndAlgorithm(OpAsmPrinter &printer, Operation *,
                                ArrayAttr precision,
                                DotAlgorithmAttr algorithm) {
  if (precision) {
    printer << ", precision = [";
    llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer,
                          [&](PrecisionAttr value) {
                            printer << stringifyPrecision(value.getValue());
                          });
    printer << "]";
  }
  if (algorithm) {
    printer << ", algorithm = ";
    algorithm.print(printer);
  }
}

ParseResult parseComplexType(OpAsmParser &parser, Type &lhs, Type &rhs,
                             Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parseSameTypeList(parser, {&lhs, &rhs, &result}))
    return failure();
  if (lhs != result)
    return success();
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto complex =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (!complex)
    return parser.emitError(loc) << "expected a tensor of complex numbers";
  lhs = rhs = tensor.clone(complex.getElementType());
  return success();
}

void printComplexType(OpAsmPrinter &printer, Operation *, Type, Type,
                      Type result) {
  printer << result;
}

ParseResult parseFloatFormat(OpAsmParser &parser, IntegerAttr &exponent,
                             IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  int32_t exponentBits = 0, mantissaBits = 0;
  auto [first, second] = word.split('m');
  if (!first.consume_front("e") || first.getAsInteger(10, exponentBits) ||
      second.getAsInteger(10, mantissaBits))
    return parser.emitError(loc)
           << "expected a format such as e8m7, got '" << word << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printFloatFormat(OpAsmPrinter &printer, Operation *, IntegerAttr exponent,
                      IntegerAttr mantissa) {
  printer << "e" << exponent.getInt() << "m" << mantissa.getInt();
}

ParseResult parseCallTarget(OpAsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

void printCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) {
  printer.printSymbolName(target.getValue());
}

} // namespace pipemesh::stablehlo
