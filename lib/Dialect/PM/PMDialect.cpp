//===- PMDialect.cpp - registration and discardable attributes ------------===//

#include "pipemesh/Dialect/PM/ClusterAttr.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::pm;

#include "pipemesh/Dialect/PM/PMDialect.cpp.inc"
#include "pipemesh/Dialect/PM/PMEnums.cpp.inc"

void PMDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "pipemesh/Dialect/PM/PMOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// A sharding must have one entry for each dimension of the value.
static LogicalResult checkRank(Operation *op, Attribute attr, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return op->emitOpError("'pm.sharding' must be a #pm.sharding, but is ")
           << attr;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError("a sharding needs a ranked tensor, but the type is ")
           << type;
  if (static_cast<int64_t>(sharding.getDims().size()) != tensor.getRank())
    return op->emitOpError("sharding ")
           << sharding << " has " << sharding.getDims().size()
           << " dimensions, but the value is " << type;
  return success();
}

LogicalResult PMDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kShardingsAttr) {
    auto list = dyn_cast<ArrayAttr>(attr.getValue());
    if (!list || list.size() != op->getNumResults())
      return op->emitOpError("'pm.shardings' must list one sharding for each of "
                             "the op's ")
             << op->getNumResults() << " results";
    for (auto [entry, type] : llvm::zip(list, op->getResultTypes()))
      if (failed(checkRank(op, entry, type)))
        return failure();
  } else if (name == kPhaseAttr) {
    auto phase = dyn_cast<StringAttr>(attr.getValue());
    if (!phase || (phase != "forward" && phase != "backward" &&
                   phase != "update"))
      return op->emitOpError("'pm.phase' must be \"forward\", \"backward\" or "
                             "\"update\", but is ")
             << attr.getValue();
  } else if (name == kFragmentAttr) {
    if (!isa<FragmentAttr>(attr.getValue()))
      return op->emitOpError("'pm.fragment' must be a #pm.fragment, but is ")
             << attr.getValue();
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError("'pm.fragment' belongs on a function");
  } else if (name == kClusterAttr) {
    std::string problem = checkClusterAttr(attr.getValue());
    if (!problem.empty())
      return op->emitOpError("'pm.cluster': ") << problem;
  } else if (name == kScheduleAttr && !isa<StringAttr>(attr.getValue())) {
    return op->emitOpError("'pm.schedule' must be the name of a schedule, but "
                           "is ")
           << attr.getValue();
  } else if (name == "pm.actions") {
    auto rows = dyn_cast<ArrayAttr>(attr.getValue());
    if (!rows || !llvm::all_of(rows, llvm::IsaPred<StringAttr>))
      return op->emitOpError("'pm.actions' must be a list of strings, one for "
                             "each rank, but is ")
             << attr.getValue();
  } else if (name == "pm.stage_layers" || name == "pm.rank_of_stage") {
    if (!isa<DenseI64ArrayAttr>(attr.getValue()))
      return op->emitOpError("'")
             << name << "' must be an array<i64>, a number for each stage, but "
             << "is " << attr.getValue();
  }
  return success();
}

/// The stored shape of a parameter has as many elements as its value.
static LogicalResult checkStoredShape(Operation *op, Attribute attr,
                                      Type type) {
  auto shape = dyn_cast<DenseI64ArrayAttr>(attr);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!shape || !tensor || !tensor.hasStaticShape())
    return op->emitOpError("'pm.stored_shape' must be an array<i64> for a "
                           "tensor of static shape, but is ")
           << attr << " for " << type;
  int64_t count = 1;
  for (int64_t size : shape.asArrayRef())
    count *= size;
  if (count != tensor.getNumElements())
    return op->emitOpError("'pm.stored_shape' ")
           << attr << " has " << count << " elements, but the value of type "
           << type << " has " << tensor.getNumElements();
  return success();
}

static LogicalResult verifyValueAttribute(Operation *op, NamedAttribute attr,
                                          Type type) {
  StringRef name = attr.getName();
  if (name == kShardingAttr)
    return checkRank(op, attr.getValue(), type);
  if (name == kStoredShapeAttr)
    return checkStoredShape(op, attr.getValue(), type);
  if (name == kStateAttr && !isa<StateAttr>(attr.getValue()))
    return op->emitOpError("'pm.state' must be a #pm.state, but is ")
           << attr.getValue();
  if ((name == kInputAttr || name == kOutputAttr || name == kNameAttr) &&
      !isa<StringAttr>(attr.getValue()))
    return op->emitOpError("'") << name << "' must be a string, but is "
                                << attr.getValue();
  // On blocks of which the last are short.
  if (name == "pm.global_type") {
    auto whole = dyn_cast<TypeAttr>(attr.getValue());
    auto tensor =
        whole ? dyn_cast<RankedTensorType>(whole.getValue()) : nullptr;
    auto local = dyn_cast<RankedTensorType>(type);
    if (!tensor || !local || tensor.getRank() != local.getRank())
      return op->emitOpError("'pm.global_type' must be a tensor type of the "
                             "rank of ")
             << type << ", but is " << attr.getValue();
  }
  if (name == kBufferAttr && !isa<FlatSymbolRefAttr>(attr.getValue()))
    return op->emitOpError("'pm.buffer' must be a symbol, but is ")
           << attr.getValue();
  return success();
}

LogicalResult PMDialect::verifyRegionArgAttribute(Operation *op,
                                                  unsigned regionIndex,
                                                  unsigned argIndex,
                                                  NamedAttribute attr) {
  Type type;
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    if (argIndex >= function.getNumArguments())
      return op->emitOpError("attribute '")
             << attr.getName() << "' on argument " << argIndex << " of "
             << function.getNumArguments();
    type = function.getArgumentTypes()[argIndex];
  } else {
    type = op->getRegion(regionIndex).getArgument(argIndex).getType();
  }
  return verifyValueAttribute(op, attr, type);
}

LogicalResult PMDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned resultIndex,
                                                     NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyValueAttribute(op, attr, function.getResultTypes()[resultIndex]);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

MeshOp pm::lookupMesh(Operation *op) {
  // The innermost module that has one: while a text is parsed, its module stands
  // in another one.
  for (; op; op = op->getParentOp())
    if (auto module = dyn_cast<ModuleOp>(op))
      for (auto mesh : module.getOps<MeshOp>())
        return mesh;
  return {};
}

/// Where the sharding of a region's argument is: a loop carries value i from
/// argument to argument and gives it as result i.
static Value getCarrier(BlockArgument arg) {
  Operation *parent = arg.getOwner()->getParentOp();
  if (!parent || isa<FunctionOpInterface, ManualComputationOp>(parent) ||
      parent->getNumResults() != arg.getOwner()->getNumArguments())
    return {};
  return parent->getResult(arg.getArgNumber());
}

/// What of the sharding of a manual computation's operand is left inside.
static ShardingAttr withoutManualAxes(ManualComputationOp op,
                                      ShardingAttr sharding) {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<StringAttr> axes(dim.getAxes());
    llvm::erase_if(axes, [&](StringAttr axis) {
      return llvm::is_contained(op.getManualAxes(), axis);
    });
    dims.push_back(DimShardingAttr::get(op.getContext(), axes, dim.getOpen(),
                                        dim.getPriority(), dim.getBlockSize()));
  }
  return ShardingAttr::get(op.getContext(), sharding.getMesh(), dims);
}

ShardingAttr pm::getSharding(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation *parent = arg.getOwner()->getParentOp();
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent))
      return function.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                     kShardingAttr);
    if (auto manual = dyn_cast_or_null<ManualComputationOp>(parent))
      return withoutManualAxes(
          manual,
          cast<ShardingAttr>(manual.getInShardings()[arg.getArgNumber()]));
    Value carrier = getCarrier(arg);
    return carrier ? getSharding(carrier) : ShardingAttr();
  }
  auto result = cast<OpResult>(value);
  auto list = dyn_cast_or_null<ArrayAttr>(
      result.getOwner()->getDiscardableAttr(kShardingsAttr));
  if (!list || result.getResultNumber() >= list.size())
    return {};
  return dyn_cast<ShardingAttr>(list[result.getResultNumber()]);
}

void pm::setSharding(Value value, ShardingAttr sharding) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (Value carrier = getCarrier(arg))
      return setSharding(carrier, sharding);
    // Of a manual computation in_shardings tells.
    if (auto function =
            dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp()))
      function.setArgAttr(arg.getArgNumber(), kShardingAttr, sharding);
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  SmallVector<Attribute> list;
  if (auto old = op->getAttrOfType<ArrayAttr>(kShardingsAttr)) {
    list.assign(old.begin(), old.end());
  } else {
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      list.push_back(ShardingAttr::getReplicated(
          op->getContext(), sharding.getMesh(), tensor ? tensor.getRank() : 0));
    }
  }
  list[result.getResultNumber()] = sharding;
  op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), list));
}

StringRef pm::getModelName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getModelName(part); !name.empty())
        return name;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getModelName(call.getCallee());
  return "";
}
