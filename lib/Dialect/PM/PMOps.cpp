//===- PMOps.cpp - meshes, shardings, collectives, programs ---------------===//

#include "pipemesh/Dialect/PM/PM.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

#define GET_OP_CLASSES
#include "pipemesh/Dialect/PM/PMOps.cpp.inc"

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> axes;
  auto parseAxis = [&]() -> ParseResult {
    Attribute axis = MeshAxisAttr::parse(parser, Type());
    if (!axis)
      return failure();
    axes.push_back(axis);
    return success();
  };
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("axes", parser.getBuilder().getArrayAttr(axes));
  return success();
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << " = [";
  llvm::interleaveComma(getAxes().getAsRange<MeshAxisAttr>(), printer,
                        [&](MeshAxisAttr axis) { axis.print(printer); });
  printer << "]";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"sym_name", "axes"});
}

LogicalResult MeshOp::verify() {
  llvm::StringSet<> seen;
  for (auto axis : getAxes().getAsRange<MeshAxisAttr>())
    if (!seen.insert(axis.getName().getValue()).second)
      return emitOpError("has two axes named '")
             << axis.getName().getValue() << "'";
  return success();
}

MeshAxisAttr MeshOp::lookupAxis(StringRef name) {
  for (auto axis : getAxes().getAsRange<MeshAxisAttr>())
    if (axis.getName().getValue() == name)
      return axis;
  return {};
}

int64_t MeshOp::getNumRanksPerStage() {
  int64_t ranks = 1;
  for (auto axis : getAxes().getAsRange<MeshAxisAttr>())
    if (axis.getKind() == AxisKind::Spatial)
      ranks *= axis.getSize();
  return ranks;
}

//===----------------------------------------------------------------------===//
// Shardings on ops
//===----------------------------------------------------------------------===//

static LogicalResult verifySharding(Operation *op, StringRef what,
                                    ShardingAttr sharding, Type type) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (static_cast<int64_t>(sharding.getDims().size()) != rank)
    return op->emitOpError() << what << " sharding " << sharding << " has "
                             << sharding.getDims().size()
                             << " dimensions, but the value is " << type;
  return success();
}

LogicalResult ConstrainOp::verify() {
  return verifySharding(*this, "the", getSharding(), getType());
}

LogicalResult ReshardOp::verify() {
  if (failed(verifySharding(*this, "source", getSource(), getType())))
    return failure();
  return verifySharding(*this, "target", getTarget(), getType());
}

//===----------------------------------------------------------------------===//
// AllReduceOp: sum(%a, %b) over ["dp"] on @mesh : types
//===----------------------------------------------------------------------===//

ParseResult AllReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef kindName;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  ArrayAttr axes;
  FlatSymbolRefAttr mesh;
  SMLoc kindLoc = parser.getCurrentLocation(), operandLoc;
  if (parser.parseKeyword(&kindName))
    return failure();
  auto kind = symbolizeReductionKind(kindName);
  if (!kind)
    return parser.emitError(kindLoc, "expected sum, max or min, but found '")
           << kindName << "'";
  operandLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("over") || parser.parseAttribute(axes) ||
      parser.parseKeyword("on") || parser.parseAttribute(mesh) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) ||
      parser.resolveOperands(operands, types, operandLoc, result.operands))
    return failure();
  result.addTypes(types);
  result.addAttribute("kind",
                      ReductionKindAttr::get(parser.getContext(), *kind));
  result.addAttribute("axes", axes);
  result.addAttribute("mesh", mesh);
  return success();
}

void AllReduceOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyReductionKind(getKind()) << "(" << getInputs()
          << ") over " << getAxes() << " on " << getMeshAttr();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"kind", "axes", "mesh"});
  printer << " : ";
  llvm::interleaveComma(getInputs().getTypes(), printer);
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().getTypes() != getResults().getTypes())
    return emitOpError("has results of other types than its operands");
  if (getInputs().empty())
    return emitOpError("needs at least one operand");
  if (getAxes().empty())
    return emitOpError("needs at least one axis");
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives over one dimension
//===----------------------------------------------------------------------===//

/// The two types differ in dimension `dim` only, which is larger in `whole`.
static LogicalResult verifyBlock(Operation *op, Type wholeType, Type blockType,
                                 int64_t dim, ArrayAttr axes) {
  auto whole = cast<RankedTensorType>(wholeType);
  auto block = cast<RankedTensorType>(blockType);
  if (axes.empty())
    return op->emitOpError("needs at least one axis");
  if (dim < 0 || dim >= whole.getRank())
    return op->emitOpError("has no dimension ")
           << dim << ", its operand is " << op->getOperand(0).getType();
  SmallVector<int64_t> expected(whole.getShape());
  if (block.getRank() == whole.getRank())
    expected[dim] = block.getDimSize(dim);
  if (block.getShape() != ArrayRef(expected) ||
      block.getElementType() != whole.getElementType())
    return op->emitOpError("turns ")
           << op->getOperand(0).getType() << " into "
           << op->getResult(0).getType()
           << ", which differ in more than the size of dimension " << dim;
  if (block.getDimSize(dim) > whole.getDimSize(dim))
    return op->emitOpError("has a block of ")
           << block.getDimSize(dim) << " elements of a dimension of "
           << whole.getDimSize(dim);
  return success();
}

LogicalResult AllGatherOp::verify() {
  return verifyBlock(*this, getResult().getType(), getInput().getType(),
                     getDim(), getAxes());
}

LogicalResult ReduceScatterOp::verify() {
  return verifyBlock(*this, getInput().getType(), getResult().getType(),
                     getDim(), getAxes());
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, RoleOp>(op))
      return op.emitOpError("may not stand in a pm.program, which holds "
                            "pm.buffer and pm.role only");
  return success();
}
