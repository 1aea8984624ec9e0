// Registration of the sdy dialect, and the text of manual computations.
#include "pipemesh/Dialect/SDY/SDY.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace pipemesh::sdy;

#include "pipemesh/Dialect/SDY/SDYDialect.cpp.inc"
#define GET_OP_CLASSES
#include "pipemesh/Dialect/SDY/SDYOps.cpp.inc"

void SDYDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/SDY/SDYOps.cpp.inc"
      >();
}

// ---- manual_computation ----------------------------------------------------

/// `name=[<...>, <...>]`.
static ParseResult parseShardings(OpAsmParser &parser, StringRef name,
                                  ShardingPerValueAttr &result) {
  SmallVector<ShardingAttr> shardings;
  auto parseOne = [&]() -> ParseResult {
    auto sharding = llvm::dyn_cast_or_null<ShardingAttr>(
        ShardingAttr::parse(parser, Type()));
    if (!sharding)
      return failure();
    shardings.push_back(sharding);
    return success();
  };
  if (parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseOne))
    return failure();
  result = ShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

ParseResult ManualComputationOp::parse(OpAsmParser &parser,
                                       OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> axes;
  Properties &properties = result.getOrAddProperties<Properties>();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parseShardings(parser, "in_shardings", properties.in_shardings) ||
      parseShardings(parser, "out_shardings", properties.out_shardings) ||
      parser.parseKeyword("manual_axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Braces,
                                     parseAxis) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  properties.manual_axes = parser.getBuilder().getArrayAttr(axes);
  result.addTypes(type.getResults());
  return success();
}

void ManualComputationOp::print(OpAsmPrinter &printer) {
  auto printShardings = [&](StringRef name, ShardingPerValueAttr list) {
    printer << " " << name << "=[";
    llvm::interleaveComma(list.getShardings(), printer,
                          [&](ShardingAttr item) { item.print(printer); });
    printer << "]";
  };
  printer << "(" << getInputs() << ")";
  printShardings("in_shardings", getInShardings());
  printShardings("out_shardings", getOutShardings());
  printer << " manual_axes={";
  llvm::interleaveComma(getManualAxes(), printer);
  printer << "} (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) {
                          printer.printRegionArgument(argument);
                        });
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"in_shardings", "out_shardings",
                                 "manual_axes"});
  printer << " : ";
  printer.printFunctionalType(getOperation());
}

LogicalResult ManualComputationOp::verify() {
  Block &block = getBody().front();
  if (getInShardings().getShardings().size() != getInputs().size() ||
      block.getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands, "
                         << getInShardings().getShardings().size()
                         << " in_shardings and " << block.getNumArguments()
                         << " arguments of the body";
  auto end = block.empty() ? ReturnOp() : dyn_cast<ReturnOp>(block.back());
  if (!end)
    return emitOpError() << "does not end with sdy.return";
  if (getOutShardings().getShardings().size() != getNumResults() ||
      end.getNumOperands() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results, "
                         << getOutShardings().getShardings().size()
                         << " out_shardings and " << end.getNumOperands()
                         << " values that the body returns";
  return success();
}
