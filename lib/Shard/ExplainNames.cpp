//===- ExplainNames.cpp - what users call values --------------------------===//

#include "ExplainNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "llvm/Support/Path.h"
#include <optional>

using namespace mlir;
using namespace pipemesh;

std::string pipemesh::nameOf(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return pm::getModelName(value.getLoc()).str();
  if (auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp())) {
    unsigned number = arg.getArgNumber();
    if (auto state =
            function.getArgAttrOfType<pm::StateAttr>(number, pm::kStateAttr))
      return state.getName().str();
    if (auto input =
            function.getArgAttrOfType<StringAttr>(number, pm::kInputAttr))
      return input.str();
  }
  return "arg" + std::to_string(arg.getArgNumber());
}

/// The first place in a file that the location names.
static FileLineColLoc getLine(Location loc) {
  if (auto line = dyn_cast<FileLineColLoc>(loc))
    return line;
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (FileLineColLoc line = getLine(part))
        return line;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getLine(call.getCallee());
  if (auto name = dyn_cast<NameLoc>(loc))
    return getLine(name.getChildLoc());
  return {};
}

static std::string lineOf(Location loc) {
  FileLineColLoc line = getLine(loc);
  return line ? (llvm::sys::path::filename(line.getFilename().getValue()) +
                 ":" + Twine(line.getLine()))
                    .str()
              : "";
}

std::string pipemesh::placeOf(Operation *op) {
  std::string place = op->getName().getStringRef().str();
  std::string name = pm::getModelName(op->getLoc()).str();
  if (name.empty())
    name = lineOf(op->getLoc());
  return name.empty() ? place : place + " at " + name;
}

/// The number in `out3`.
static std::optional<unsigned> getResultNumber(StringRef name) {
  unsigned number;
  if (!name.consume_front("out") || name.getAsInteger(10, number))
    return {};
  return number;
}

SmallVector<Value> pipemesh::valuesNamed(ModuleOp module, StringRef name) {
  SmallVector<Value> values;
  std::optional<unsigned> number = getResultNumber(name);
  for (auto function : module.getOps<func::FuncOp>()) {
    for (BlockArgument arg : function.getArguments())
      if (nameOf(arg) == name)
        values.push_back(arg);
    if (function.isExternal())
      continue;
    Operation *end = function.getBody().back().getTerminator();
    if (!number || *number >= end->getNumOperands())
      continue;
    // What comes in front of its reshards is what was computed.
    Value result = end->getOperand(*number);
    while (auto reshard = result.getDefiningOp<pm::ReshardOp>())
      result = reshard.getInput();
    values.push_back(result);
  }
  module.walk([&](Operation *op) {
    if (isa<pm::ReshardOp>(op))
      return;
    StringRef kind = op->getName().getStringRef();
    std::string line = lineOf(op->getLoc());
    bool isCalledSo =
        pm::getModelName(op->getLoc()) == name || kind == name ||
        op->getName().stripDialect() == name ||
        (!line.empty() &&
         (name == line || (name.starts_with(":") &&
                           StringRef(line).ends_with(name))));
    if (isCalledSo)
      for (Value result : op->getResults())
        if (pm::getSharding(result))
          values.push_back(result);
  });
  return values;
}
