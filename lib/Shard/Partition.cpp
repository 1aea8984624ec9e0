//===- Partition.cpp - local shapes, and collectives for reshards ---------===//

#include "FunctionAttrs.h"
#include "LocalType.h"
#include "Padding.h"
#include "Reshard.h"
#include "VocabularyOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
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
  Partitioner(func::FuncOp function, const MeshAxes &mesh,
              const Padding &padding)
      : function(function), mesh(mesh), padding(padding),
        temporal(isPerMicroBatch(function)), builder(function.getContext()) {}

  LogicalResult run();

private:
  /// What an op needs to know of its global types.
  struct Notes {
    /// The shape of operand 0, of an op that names sizes of it.
    SmallVector<int64_t> shape;
    /// Operands whose padding would be summed, along which dimension.
    struct Mask {
      unsigned operand, dim;
      int64_t size;
      ReductionKind kind;
    };
    SmallVector<Mask> masks;
    /// The axes that cut the vocabulary of a lookup or a loss, and its size.
    Axes vocabulary;
    int64_t vocabularySize = 0;
  };

  LogicalResult takeNotes(Operation *op);
  void noteGlobalTypes();
  FailureOr<RankedTensorType> localType(Value value);
  LogicalResult convert(Operation *op);
  LogicalResult convertConstant(stablehlo::ConstantOp op);
  LogicalResult convertIota(stablehlo::IotaOp op);
  LogicalResult convertReshard(pm::ReshardOp op);
  void convertVocabularyOp(Operation *op, const Notes &notes);
  /// `value` with what lies behind the end of this rank's block replaced by
  /// what does not count in a reduction.
  Value mask(Location loc, Value value, const Notes::Mask &mask,
             ArrayRef<StringAttr> axes);
  /// `size` minus the offset of this rank's block.
  Value limitOf(Location loc, ArrayRef<StringAttr> axes, int64_t size,
                int64_t blockSize);
  /// The value after one step of a reshard.
  Value convertStep(pm::ReshardOp op, Value value, const ReshardStep &step,
                    const ValueSharding &before, ReductionKind kind);
  /// The offset of this rank's block in the dimension, in elements.
  Value offsetOf(Location loc, ArrayRef<StringAttr> axes, int64_t blockSize);
  /// The block of this rank, cut from a value that all have.
  Value sliceBlock(Location loc, Value whole,
                   ArrayRef<SmallVector<StringAttr, 2>> axes);
  Value constantI32(Location loc, int64_t value);
  Value axisIndex(Location loc, StringAttr axis);
  void copySharding(Value from, Value to) {
    ValueSharding sharding = shardings.lookup(from);
    shardings[to] = std::move(sharding);
  }
  /// Active axes of more than one member.
  Axes cutting(ArrayRef<StringAttr> axes) {
    Axes list = activeAxes(axes, mesh, temporal);
    llvm::erase_if(list, [&](StringAttr a) { return mesh.sizeOf(a) == 1; });
    return list;
  }

  func::FuncOp function;
  const MeshAxes &mesh;
  const Padding &padding;
  bool temporal;
  OpBuilder builder;
  llvm::DenseMap<Value, ValueSharding> shardings;
  llvm::DenseMap<Operation *, Notes> notes;
  /// Of the value that is being resharded.
  SmallVector<int64_t> globalSizes;
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
  for (Operation &op : body.without_terminator())
    if (failed(takeNotes(&op)))
      return failure();
  if (!function->hasAttr(pm::kFragmentAttr))
    noteGlobalTypes();

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

/// The local types do not tell how long a value is whose last blocks are short.
/// The buffers of fragments do.
void Partitioner::noteGlobalTypes() {
  auto typeOf = [&](Value value) -> Attribute {
    return padding.hasPadding(value) ? TypeAttr::get(value.getType()) : nullptr;
  };
  SmallVector<Attribute> arguments, results;
  for (BlockArgument arg : function.getArguments())
    arguments.push_back(typeOf(arg));
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back(typeOf(value));
  if (llvm::any_of(arguments, [](Attribute a) { return a; }))
    setArgAttrs(function, "pm.global_type", arguments);
  if (llvm::any_of(results, [](Attribute a) { return a; }))
    setResultAttrs(function, "pm.global_type", results);
}

/// Ops that name sizes of operand 0.
static bool namesSizes(Operation *op) {
  return isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
             stablehlo::GatherOp>(op);
}

LogicalResult Partitioner::takeNotes(Operation *op) {
  Notes own;
  if (namesSizes(op))
    own.shape.assign(
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape().begin(),
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape().end());
  if (auto place = getVocabularyDim(op)) {
    own.vocabulary = cutting(shardings[place->value].dims[place->dim].axes);
    own.vocabularySize =
        cast<RankedTensorType>(place->value.getType()).getDimSize(place->dim);
  }
  if (!isa<pm::ReshardOp>(op) &&
      llvm::any_of(op->getOperands(),
                   [&](Value value) { return padding.hasPadding(value); })) {
    bool hasRule;
    ShardingRule rule = getRule(op, hasRule);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto type = cast<RankedTensorType>(operand.getType());
      for (unsigned dim = 0; dim < type.getRank(); ++dim) {
        const Axes &axes = shardings[operand].dims[dim].axes;
        if (!isUneven(type.getDimSize(dim), axes, mesh))
          continue;
        ArrayRef<int64_t> factors = rule.operands[index][dim];
        if (factors.size() != 1)
          return op->emitError("dimension ")
                 << dim << " of operand " << index << " of size "
                 << type.getDimSize(dim) << " is cut unevenly over '"
                 << axes.back().getValue()
                 << "', and the op takes it apart; cut it into equal pieces, "
                    "or "
                    "constrain it to be whole";
        const Factor &factor = rule.factors[factors[0]];
        // A lookup knows which rows it has, but must find one for each id.
        bool isLookup = isa<pm::EmbeddingOp>(op), isId = isLookup && index == 1;
        bool isSummed = factor.kind == FactorKind::Reduction && !isLookup;
        if ((isId || isSummed) && !padding.isZero(operand))
          own.masks.push_back({unsigned(index), dim, type.getDimSize(dim),
                               isId ? ReductionKind::Sum : factor.reduction});
      }
    }
  }
  notes[op] = std::move(own);
  return success();
}

/// A dimension that is taken whole is taken whole of the shard.
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
  const Notes &own = notes.find(op)->second;
  if (namesSizes(op))
    adaptSizes(op, own.shape);
  for (const Notes::Mask &mask : own.masks) {
    Value operand = op->getOperand(mask.operand);
    ValueSharding sharding = shardings[operand];
    Value masked = this->mask(op->getLoc(), operand, mask,
                              cutting(sharding.dims[mask.dim].axes));
    shardings[masked] = sharding;
    op->setOperand(mask.operand, masked);
  }
  for (OpResult result : op->getResults()) {
    FailureOr<RankedTensorType> type = localType(result);
    if (failed(type))
      return failure();
    result.setType(*type);
  }
  if (!own.vocabulary.empty())
    convertVocabularyOp(op, own);
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

Value Partitioner::limitOf(Location loc, ArrayRef<StringAttr> axes,
                           int64_t size, int64_t blockSize) {
  return stablehlo::SubtractOp::create(builder, loc, constantI32(loc, size),
                                       offsetOf(loc, axes, blockSize));
}

Value Partitioner::mask(Location loc, Value value, const Notes::Mask &mask,
                        ArrayRef<StringAttr> axes) {
  stablehlo::TensorBuilder b(builder, loc);
  auto type = cast<RankedTensorType>(value.getType());
  Value limit = limitOf(loc, axes, mask.size, type.getDimSize(mask.dim));
  Value exists =
      b.compare(b.iota(type.getShape(), builder.getI32Type(), mask.dim),
                b.broadcast(limit, {}, type.getShape()),
                stablehlo::ComparisonDirection::LT);
  double neutral = mask.kind == ReductionKind::Sum   ? 0.0
                   : mask.kind == ReductionKind::Max ? -INFINITY
                                                     : INFINITY;
  return b.select(exists, value, b.splat(neutral, value));
}

Value Partitioner::sliceBlock(Location loc, Value whole,
                              ArrayRef<SmallVector<StringAttr, 2>> axes) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> sizes(type.getShape()), low(sizes.size(), 0),
      high(sizes.size(), 0);
  SmallVector<Value> starts;
  bool isPadded = false;
  for (auto [dim, dimAxes] : llvm::enumerate(axes)) {
    int64_t blocks = 1, size = sizes[dim];
    for (StringAttr axis : dimAxes)
      blocks *= mesh.sizeOf(axis);
    sizes[dim] = llvm::divideCeil(size, blocks);
    high[dim] = sizes[dim] * blocks - size;
    isPadded |= high[dim] > 0;
    starts.push_back(offsetOf(loc, dimAxes, sizes[dim]));
  }
  if (isPadded) {
    stablehlo::TensorBuilder b(builder, loc);
    whole = stablehlo::PadOp::create(builder, loc, whole,
                                     b.scalar(0, type.getElementType()), low,
                                     high, low);
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
  for (const DimCut &dim : shardings[op.getResult()].dims)
    axes.push_back(cutting(dim.axes));
  builder.setInsertionPointAfter(op);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op.getResult().getUses())
    uses.push_back(&use);
  Value block = sliceBlock(op.getLoc(), op.getResult(), axes);
  for (OpOperand *use : uses)
    use->set(block);
  copySharding(op.getResult(), block);
  return success();
}

LogicalResult Partitioner::convertIota(stablehlo::IotaOp op) {
  FailureOr<RankedTensorType> type = localType(op.getResult());
  if (failed(type))
    return failure();
  unsigned dim = op.getIotaDimension();
  Axes axes = cutting(shardings[op.getResult()].dims[dim].axes);
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
  copySharding(op.getResult(), sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

Value Partitioner::convertStep(pm::ReshardOp op, Value value,
                               const ReshardStep &step,
                               const ValueSharding &before,
                               ReductionKind kind) {
  Location loc = op.getLoc();
  SmallVector<Attribute> names(step.axes.begin(), step.axes.end());
  ArrayAttr axes = builder.getArrayAttr(names);
  auto kindAttr = pm::ReductionKindAttr::get(
      builder.getContext(), static_cast<pm::ReductionKind>(kind));
  if (step.kind == ReshardStep::AllReduce)
    return pm::AllReduceOp::create(builder, loc, TypeRange(value.getType()),
                                   value, kindAttr, axes, mesh.symbol())
        .getResult(0);
  // The dimension's size after the step, of all ranks' blocks.
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  Axes left = before.dims[step.dim].axes;
  if (step.kind == ReshardStep::AllGather)
    left.truncate(left.size() - step.axes.size());
  else
    left.append(step.axes);
  int64_t blocks = 1;
  for (StringAttr axis : left)
    blocks *= mesh.sizeOf(axis);
  shape[step.dim] = llvm::divideCeil(globalSizes[step.dim], blocks);
  RankedTensorType result = type.clone(shape);
  auto dim = builder.getI64IntegerAttr(step.dim);
  if (step.kind == ReshardStep::AllGather)
    return pm::AllGatherOp::create(builder, loc, result, value, dim, axes,
                                   mesh.symbol());
  return pm::ReduceScatterOp::create(builder, loc, result, value, kindAttr, dim,
                                     axes, mesh.symbol());
}

LogicalResult Partitioner::convertReshard(pm::ReshardOp op) {
  ValueSharding source(op.getSource()), target(op.getTarget());
  auto onlyCutting = [&](const ValueSharding &sharding) {
    ValueSharding list = sharding;
    for (DimCut &dim : list.dims)
      dim.axes = cutting(dim.axes);
    list.partial = cutting(list.partial);
    return list;
  };
  auto global = cast<RankedTensorType>(op.getResult().getType());
  ValueSharding now = onlyCutting(source);
  std::string error;
  auto steps = findReshard(global, now, onlyCutting(target), mesh, error);
  if (failed(steps))
    return op.emitError("cannot reshard from ")
           << op.getSource() << " to " << op.getTarget() << ": " << error;

  Value value = op.getInput();
  globalSizes.assign(global.getShape().begin(), global.getShape().end());
  SmallVector<SmallVector<StringAttr, 2>> cuts;
  auto cut = [&] {
    if (!cuts.empty())
      value = sliceBlock(op.getLoc(), value, cuts);
    cuts.clear();
  };
  for (const ReshardStep &step : *steps) {
    if (step.kind == ReshardStep::Slice) {
      cuts.resize(global.getRank());
      cuts[step.dim].append(step.axes);
      now.dims[step.dim].axes.append(step.axes);
      continue;
    }
    cut();
    value = convertStep(op, value, step, now,
                        static_cast<ReductionKind>(source.kind));
    if (Attribute phase = op->getAttr(pm::kPhaseAttr))
      value.getDefiningOp()->setAttr(pm::kPhaseAttr, phase);
    if (step.kind == ReshardStep::AllGather)
      now.dims[step.dim].axes.truncate(now.dims[step.dim].axes.size() -
                                       step.axes.size());
    else if (step.kind == ReshardStep::ReduceScatter)
      now.dims[step.dim].axes.append(step.axes);
  }
  cut();
  if (Attribute phase = op->getAttr(pm::kPhaseAttr))
    if (value != op.getInput())
      value.getDefiningOp()->setAttr(pm::kPhaseAttr, phase);
  shardings[value] = target;
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

void Partitioner::convertVocabularyOp(Operation *op, const Notes &own) {
  Location loc = op->getLoc();
  auto place = getVocabularyDim(op);
  int64_t blockSize =
      cast<RankedTensorType>(place->value.getType()).getDimSize(place->dim);
  VocabularyBlock block{
      offsetOf(loc, own.vocabulary, blockSize), {}, own.vocabulary};
  int64_t blocks = 1;
  for (StringAttr axis : own.vocabulary)
    blocks *= mesh.sizeOf(axis);
  if (blockSize * blocks != own.vocabularySize &&
      isa<pm::CrossEntropyOp, pm::CrossEntropyGradOp>(op))
    block.limit = limitOf(loc, own.vocabulary, own.vocabularySize, blockSize);
  SmallVector<Value> values = expandOverVocabulary(builder, op, block, mesh);
  for (auto [result, value] : llvm::zip(op->getResults(), values)) {
    copySharding(result, value);
    result.replaceAllUsesWith(value);
  }
  op->erase();
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
    Padding padding(getOperation(), mesh);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(Partitioner(function, mesh, padding).run()))
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
