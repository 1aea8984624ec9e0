//===- PMOps.cpp - meshes, shardings and programs -------------------------===//

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

/// Ranks of a mesh, and micro-batches: their places are counted in i32, and the
/// table of a permute has an entry for each member.
constexpr int64_t kMostRanks = 1 << 20;

LogicalResult MeshOp::verify() {
  llvm::StringSet<> seen;
  int64_t ranks = 1;
  for (auto axis : getAxes().getAsRange<MeshAxisAttr>()) {
    if (!seen.insert(axis.getName().getValue()).second)
      return emitOpError("has two axes named '")
             << axis.getName().getValue() << "'";
    bool isTemporal = axis.getKind() == AxisKind::Temporal;
    if (axis.getSize() > kMostRanks / (isTemporal ? 1 : ranks))
      return emitOpError("has more than ")
             << kMostRanks << (isTemporal ? " micro-batches" : " ranks")
             << " with the axis '" << axis.getName().getValue()
             << "' of size " << axis.getSize();
    if (!isTemporal)
      ranks *= axis.getSize();
  }
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
// ProgramOp
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, RoleOp>(op))
      return op.emitOpError("may not stand in a pm.program, which holds "
                            "pm.buffer and pm.role only");
  return success();
}
