// Control flow: text and verification.
#include "AsmDirectives.h"
#include "Dims.h"

using namespace mlir;
using namespace pipemesh::stablehlo;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/StableHLO/StableHLOControlOps.cpp.inc"

void StableHLODialect::addControlOps() {
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/StableHLO/StableHLOControlOps.cpp.inc"
      >();
}

// ---- while -----------------------------------------------------------------

LogicalResult WhileOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getOperand().getTypes());
  return success();
}

LogicalResult WhileOp::verifyRegions() {
  auto pred =
      RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(checkRegion(*this, "the condition", getCond(), getOperandTypes(),
                         TypeRange(pred))))
    return failure();
  return checkRegion(*this, "the body", getBody(), getOperandTypes(),
                     getOperandTypes());
}

void WhileOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parseCarry = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseCarry))
    return failure();
  SmallVector<Type> types;
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(loc) << operands.size() << " values are carried, but "
                                 << types.size() << " types given";
  if (parser.resolveOperands(operands, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip(arguments, types))
    argument.type = type;
  result.addTypes(types);
  if (parser.parseKeyword("cond") ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseKeyword("do") ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return success();
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << "(";
  // The condition's arguments give the names; the body's are named alike.
  llvm::interleaveComma(
      llvm::zip(getCond().getArguments(), getOperand()), printer,
      [&](auto carry) {
        printer << std::get<0>(carry) << " = " << std::get<1>(carry);
      });
  printer << ")";
  if (!getOperand().empty()) {
    printer << " : ";
    llvm::interleaveComma(getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer.shadowRegionArgs(getBody(), getCond().getArguments());
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

// ---- if, case --------------------------------------------------------------

LogicalResult IfOp::verifyRegions() {
  if (failed(checkRegion(*this, "the first region", getTrueBranch(),
                         TypeRange(), getResultTypes())))
    return failure();
  return checkRegion(*this, "the second region", getFalseBranch(), TypeRange(),
                     getResultTypes());
}

LogicalResult CaseOp::verify() {
  if (getBranches().empty())
    return emitOpError() << "has no region to choose";
  if (!getIndex().getType().getElementType().isSignlessInteger(32))
    return emitOpError() << "has an index of type " << getIndex().getType()
                         << ", expected tensor<i32>";
  return success();
}

LogicalResult CaseOp::verifyRegions() {
  for (auto [i, branch] : llvm::enumerate(getBranches()))
    if (failed(checkRegion(*this, ("region " + Twine(i)).str(), branch,
                           TypeRange(), getResultTypes())))
      return failure();
  return success();
}
