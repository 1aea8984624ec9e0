//===- Partition.cpp - local shapes, and collectives for reshards ---------===//

#include "LocalType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Shard/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_PARTITIONPASS
#include "pipemesh/Shard/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
/// Partitions one function.
class Partitioner {
public:
  Partitioner(func::FuncOp function, const MeshAxes &mesh)
      : function(function), mesh(mesh), temporal(isPerMicroBatch(function)),
        builder(function.getContext()) {}

  LogicalResult run();

private:
  FailureOr<RankedTensorType> localType(Value value);
  LogicalResult convert(Operation *op);
  LogicalResult convertConstant(stablehlo::ConstantOp op);
  LogicalResult convertIota(stablehlo::IotaOp op);
  LogicalResult convertReshard(pm::ReshardOp op);
  /// The offset of this rank's block in the dimension, in elements.
  Value offsetOf(Location loc, ArrayRef<StringAttr> axes, int64_t blockSize);
  /// The block of this rank, cut from a value that all have.
  Value sliceBlock(Location loc, Value whole,
                   ArrayRef<SmallVector<StringAttr, 2>> axes);
  Value constantI32(Location loc, int64_t value);
  Value axisIndex(Location loc, StringAttr axis);
  LogicalResult refuse(pm::ReshardOp op, const Twine &what);
  /// Active axes of more than one member.
  Axes cutting(ArrayRef<StringAttr> axes) {
    Axes list = activeAxes(axes, mesh, temporal);
    llvm::erase_if(list, [&](StringAttr a) { return mesh.sizeOf(a) == 1; });
    return list;
  }

  func::FuncOp function;
  const MeshAxes &mesh;
  bool temporal;
  OpBuilder builder;
  llvm::DenseMap<Value, ValueSharding> shardings;
  llvm::DenseMap<StringAttr, Value> indices;
};
} // namespace

FailureOr<RankedTensorType> Partitioner::localType(Value value) {
  return localTypeOf(value.getLoc(), cast<RankedTensorType>(value.getType()),
                     shardings[value], mesh, temporal);
}

LogicalResult Partitioner::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function with ")
           << function.getBody().getBlocks().size()
           << " blocks cannot be partitioned; use structured control flow";
  Block &body = function.getBody().front();
  auto read = [&](Value value) -> LogicalResult {
    pm::ShardingAttr attr = pm::getSharding(value);
    if (!attr)
      return emitError(value.getLoc())
             << "a value without a sharding cannot be partitioned; run "
                "pm-propagate";
    shardings[value] = ValueSharding(attr);
    return success();
  };
  for (BlockArgument arg : body.getArguments())
    if (failed(read(arg)))
      return failure();
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      if (failed(read(result)))
        return failure();

  for (BlockArgument arg : body.getArguments()) {
    FailureOr<RankedTensorType> type = localType(arg);
    if (failed(type))
      return failure();
    arg.setType(*type);
  }
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (failed(convert(&op)))
      return failure();
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return success();
}

/// Ops that name sizes of their operand: a dimension that is taken whole is
/// taken whole of the shard.
static void adaptSizes(Operation *op, ArrayRef<int64_t> globalShape) {
  auto local = [&](Value operand, ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> adapted(sizes);
    auto type = cast<RankedTensorType>(operand.getType());
    for (unsigned dim = 0; dim < adapted.size(); ++dim)
      if (type.getDimSize(dim) != globalShape[dim])
        adapted[dim] = type.getDimSize(dim);
    return adapted;
  };
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    slice.setLimitIndices(local(slice.getOperand(), slice.getLimitIndices()));
  else if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op))
    slice.setSliceSizes(local(slice.getOperand(), slice.getSliceSizes()));
  else if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
    gather.setSliceSizes(local(gather.getOperand(), gather.getSliceSizes()));
}

LogicalResult Partitioner::convert(Operation *op) {
  op->removeAttr(pm::kShardingsAttr);
  builder.setInsertionPoint(op);
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return convertConstant(constant);
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
    return convertIota(iota);
  if (auto reshard = dyn_cast<pm::ReshardOp>(op))
    return convertReshard(reshard);
  if (isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::GatherOp>(
          op)) {
    // The global shape is the local one times the axes of each dimension.
    SmallVector<int64_t> global(
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape());
    for (auto [size, axes] :
         llvm::zip(global, shardings[op->getOperand(0)].dims))
      for (StringAttr axis : activeAxes(axes, mesh, temporal))
        size *= mesh.sizeOf(axis);
    adaptSizes(op, global);
  }
  for (OpResult result : op->getResults()) {
    FailureOr<RankedTensorType> type = localType(result);
    if (failed(type))
      return failure();
    result.setType(*type);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value Partitioner::constantI32(Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return stablehlo::ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type,
                             builder.getI32IntegerAttr(value).getValue()));
}

Value Partitioner::axisIndex(Location loc, StringAttr axis) {
  Value &index = indices[axis];
  if (!index) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    index = pm::AxisIndexOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI32Type()), axis,
        mesh.symbol());
  }
  return index;
}

Value Partitioner::offsetOf(Location loc, ArrayRef<StringAttr> axes,
                            int64_t blockSize) {
  Value block;
  for (StringAttr axis : axes) {
    Value index = axisIndex(loc, axis);
    if (block) {
      block = stablehlo::MulOp::create(builder, loc, block,
                                       constantI32(loc, mesh.sizeOf(axis)));
      block = stablehlo::AddOp::create(builder, loc, block, index);
    } else {
      block = index;
    }
  }
  if (!block)
    return constantI32(loc, 0);
  return stablehlo::MulOp::create(builder, loc, block,
                                  constantI32(loc, blockSize));
}

Value Partitioner::sliceBlock(Location loc, Value whole,
                              ArrayRef<SmallVector<StringAttr, 2>> axes) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<Value> starts;
  for (auto [size, dimAxes] : llvm::zip(sizes, axes)) {
    for (StringAttr axis : dimAxes)
      size /= mesh.sizeOf(axis);
    starts.push_back(offsetOf(loc, dimAxes, size));
  }
  return stablehlo::DynamicSliceOp::create(
      builder, loc, RankedTensorType::get(sizes, type.getElementType()), whole,
      starts, builder.getDenseI64ArrayAttr(sizes));
}

//===----------------------------------------------------------------------===//
// Generated values
//===----------------------------------------------------------------------===//

LogicalResult Partitioner::convertConstant(stablehlo::ConstantOp op) {
  FailureOr<RankedTensorType> type = localType(op.getResult());
  if (failed(type))
    return failure();
  if (*type == op.getType())
    return success();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (elements && elements.isSplat()) {
    op.setValueAttr(elements.resizeSplat(*type));
    op.getResult().setType(*type);
    return success();
  }
  // Each rank holds the whole constant, and takes its block.
  SmallVector<SmallVector<StringAttr, 2>> axes;
  for (const Axes &dim : shardings[op.getResult()].dims)
    axes.push_back(cutting(dim));
  builder.setInsertionPointAfter(op);
  Value block = sliceBlock(op.getLoc(), op.getResult(), axes);
  op.getResult().replaceAllUsesExcept(block, block.getDefiningOp());
  shardings[block] = shardings[op.getResult()];
  return success();
}

LogicalResult Partitioner::convertIota(stablehlo::IotaOp op) {
  FailureOr<RankedTensorType> type = localType(op.getResult());
  if (failed(type))
    return failure();
  unsigned dim = op.getIotaDimension();
  Axes axes = cutting(shardings[op.getResult()].dims[dim]);
  op.getResult().setType(*type);
  if (axes.empty())
    return success();
  Location loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  Value offset = offsetOf(loc, axes, type->getDimSize(dim));
  if (!type->getElementType().isInteger(32))
    offset = stablehlo::ConvertOp::create(
        builder, loc, RankedTensorType::get({}, type->getElementType()),
        offset);
  Value spread = stablehlo::BroadcastInDimOp::create(
      builder, loc, *type, offset, builder.getDenseI64ArrayAttr({}));
  Value sum = stablehlo::AddOp::create(builder, loc, op.getResult(), spread);
  op.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  shardings[sum] = shardings[op.getResult()];
  return success();
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

LogicalResult Partitioner::refuse(pm::ReshardOp op, const Twine &what) {
  return op.emitError("cannot reshard from ")
         << op.getSource() << " to " << op.getTarget() << ": " << what;
}

LogicalResult Partitioner::convertReshard(pm::ReshardOp op) {
  ValueSharding source(op.getSource()), target(op.getTarget());
  Axes before = cutting(source.partial), after = cutting(target.partial);
  for (StringAttr axis : after)
    if (!llvm::is_contained(before, axis))
      return refuse(op, "a whole value cannot become partial over '" +
                            axis.getValue() + "'");
  SmallVector<Attribute> reduced;
  for (StringAttr axis : before) {
    if (llvm::is_contained(after, axis))
      continue;
    if (mesh.isTemporal(axis))
      return refuse(op, "a sum over the temporal axis '" + axis.getValue() +
                            "' is complete only in a prologue or an update");
    reduced.push_back(axis);
  }
  SmallVector<SmallVector<StringAttr, 2>> cuts;
  bool cut = false;
  for (auto [dim, pair] :
       llvm::enumerate(llvm::zip(source.dims, target.dims))) {
    Axes from = cutting(std::get<0>(pair)), to = cutting(std::get<1>(pair));
    bool nested = from.size() <= to.size() &&
                  ArrayRef(to).take_front(from.size()) == ArrayRef(from);
    if (!nested)
      return refuse(op, "dimension " + Twine(dim) + " is cut over '" +
                            from.back().getValue() +
                            "' and needs to be gathered, and gathering is not "
                            "among the collectives all-reduce and slice; keep "
                            "the dimension cut, or give the op that needs it "
                            "whole a sharding rule");
    cuts.emplace_back(to.begin() + from.size(), to.end());
    cut |= !cuts.back().empty();
  }

  Value value = op.getInput();
  if (!reduced.empty())
    value = pm::AllReduceOp::create(
                builder, op.getLoc(), TypeRange(value.getType()), value,
                pm::ReductionKindAttr::get(builder.getContext(), source.kind),
                builder.getArrayAttr(reduced), mesh.symbol())
                .getResult(0);
  if (cut) {
    FailureOr<RankedTensorType> type = localType(op.getResult());
    if (failed(type))
      return failure();
    value = sliceBlock(op.getLoc(), value, cuts);
  }
  if (Attribute phase = op->getAttr(pm::kPhaseAttr))
    if (value != op.getInput())
      value.getDefiningOp()->setAttr(pm::kPhaseAttr, phase);
  shardings[value] = target;
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

namespace {
class Partition : public pipemesh::impl::PartitionPassBase<Partition> {
public:
  void runOnOperation() override {
    pm::MeshOp meshOp = pm::lookupMesh(getOperation());
    if (!meshOp) {
      getOperation().emitError("the module has no mesh to partition over");
      return signalPassFailure();
    }
    MeshAxes mesh(meshOp);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Partitioner(function, mesh).run()))
        return signalPassFailure();
    WalkResult result = getOperation().walk([&](pm::BufferOp buffer) {
      auto global = cast<RankedTensorType>(buffer.getType());
      FailureOr<RankedTensorType> local = localTypeOf(
          buffer.getLoc(), global, ValueSharding(buffer.getSharding()), mesh,
          /*temporal=*/true);
      if (failed(local))
        return WalkResult::interrupt();
      buffer.setGlobalTypeAttr(TypeAttr::get(global));
      buffer.setTypeAttr(TypeAttr::get(*local));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
