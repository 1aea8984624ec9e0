//===- PMCollectiveOps.cpp - exchanges between ranks ----------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "pipemesh/Dialect/PM/PM.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

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

LogicalResult AllToAllOp::verify() {
  auto before = cast<RankedTensorType>(getInput().getType());
  auto after = cast<RankedTensorType>(getResult().getType());
  int64_t split = getSplit(), concat = getConcat();
  if (getAxes().empty())
    return emitOpError("needs at least one axis");
  for (int64_t dim : {split, concat})
    if (dim < 0 || dim >= before.getRank())
      return emitOpError("has no dimension ")
             << dim << ", its operand is " << before;
  if (split == concat)
    return emitOpError("splits and joins the same dimension ") << split;
  SmallVector<int64_t> expected(before.getShape());
  if (after.getRank() == before.getRank())
    for (int64_t dim : {split, concat})
      expected[dim] = after.getDimSize(dim);
  if (after.getShape() != ArrayRef(expected) ||
      after.getElementType() != before.getElementType())
    return emitOpError("turns ")
           << before << " into " << after
           << ", which differ in more than the sizes of dimensions " << split
           << " and " << concat;
  if (after.getDimSize(split) > before.getDimSize(split) ||
      after.getDimSize(concat) < before.getDimSize(concat))
    return emitOpError("turns ")
           << before << " into " << after << ", but splits dimension " << split
           << " and joins dimension " << concat;
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  if (getAxes().empty())
    return emitOpError("needs at least one axis");
  int64_t members = getSources().size();
  if (MeshOp mesh = lookupMesh(*this)) {
    int64_t ranks = 1;
    for (auto name : getAxes().getAsRange<StringAttr>())
      if (MeshAxisAttr axis = mesh.lookupAxis(name))
        ranks *= axis.getSize();
    if (members == 0 || members % ranks != 0)
      return emitOpError("names the sources of ")
             << members << " members, but its axes have " << ranks;
    auto type = cast<RankedTensorType>(getInput().getType());
    int64_t parts = members / ranks;
    if (parts > 1 && (type.getRank() == 0 || type.getDimSize(0) % parts != 0))
      return emitOpError("names sources of ")
             << parts << " parts for each member, which do not divide "
             << "dimension 0 of " << type;
    members = ranks;
  }
  for (int64_t source : getSources())
    if (source < -1 || source >= members)
      return emitOpError("has the source ")
             << source << ", which is not one of its " << members
             << " members (or -1, for zero)";
  return success();
}

//===----------------------------------------------------------------------===//
// ManualComputationOp
//===----------------------------------------------------------------------===//

/// Whether a value of type `inside` is what a rank of the manual axes holds of
/// one of type `outside` that lies like `sharding`.
static LogicalResult verifyManual(ManualComputationOp op, const Twine &what,
                                  ShardingAttr sharding, Type outside,
                                  Type inside) {
  auto whole = cast<RankedTensorType>(outside);
  if (int64_t(sharding.getDims().size()) != whole.getRank())
    return op.emitOpError() << what << " is " << whole
                            << ", but its sharding has "
                            << sharding.getDims().size() << " dimensions";
  MeshOp mesh = lookupMesh(op);
  if (!mesh)
    return op.emitOpError("needs a pm.mesh");
  SmallVector<int64_t> shape(whole.getShape());
  for (auto [number, dim] : llvm::enumerate(sharding.getDims()))
    for (StringAttr name : dim.getAxes())
      if (llvm::is_contained(op.getManualAxes(), name)) {
        MeshAxisAttr axis = mesh.lookupAxis(name);
        if (!axis)
          return op.emitOpError("the axis '")
                 << name.getValue() << "' is not one of the mesh";
        if (shape[number] % axis.getSize() != 0)
          return op.emitOpError()
                 << what << ": the manual axis '" << name.getValue()
                 << "' of size " << axis.getSize()
                 << " does not divide dimension " << number << " of " << whole;
        shape[number] /= axis.getSize();
      }
  if (inside != whole.clone(shape))
    return op.emitOpError() << what << " of type " << whole << " is "
                            << whole.clone(shape)
                            << " on a rank of the manual axes, but the body has "
                            << inside;
  return success();
}

LogicalResult ManualComputationOp::verify() {
  Block &block = getBody().front();
  auto end = dyn_cast<ReturnOp>(block.getTerminator());
  if (!end)
    return emitOpError("ends with '")
           << block.getTerminator()->getName() << "', not with pm.return";
  if (getInShardings().size() != getInputs().size() ||
      block.getNumArguments() != getInputs().size())
    return emitOpError("has ")
           << getInputs().size() << " operands, " << getInShardings().size()
           << " in_shardings and " << block.getNumArguments()
           << " arguments of the body";
  if (getOutShardings().size() != getNumResults() ||
      end.getNumOperands() != getNumResults())
    return emitOpError("has ")
           << getNumResults() << " results, " << getOutShardings().size()
           << " out_shardings and " << end.getNumOperands()
           << " values that the body returns";
  for (auto [index, input] : llvm::enumerate(getInputs()))
    if (failed(verifyManual(*this, "operand " + Twine(index),
                            cast<ShardingAttr>(getInShardings()[index]),
                            input.getType(), block.getArgument(index).getType())))
      return failure();
  for (auto [index, result] : llvm::enumerate(getResults()))
    if (failed(verifyManual(*this, "result " + Twine(index),
                            cast<ShardingAttr>(getOutShardings()[index]),
                            result.getType(), end.getOperand(index).getType())))
      return failure();
  return success();
}
