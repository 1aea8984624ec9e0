//===- FuseKernels.cpp - pm-fuse-kernels ----------------------------------===//

#include "FusionGroups.h"
#include "KernelPlan.h"
#include "ScalarOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Lower/Kernels/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pipemesh;

namespace pipemesh {
#define GEN_PASS_DEF_FUSEKERNELS
#include "pipemesh/Lower/Kernels/Passes.h.inc"
} // namespace pipemesh

/// Notes which model op an op came from, for the names of kernels.
static constexpr llvm::StringLiteral kOriginAttr = "pmrt.origin";

/// The elements of one piece of a sum over a whole tensor.
static constexpr int64_t kSumPiece = 1 << 15;

/// The k largest are a sorted list's first.
static void decomposeTopK(chlo::TopKOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  auto indexType = cast<RankedTensorType>(op.getIndices().getType());
  int64_t last = type.getRank() - 1;
  Value places = stablehlo::IotaOp::create(
      builder, loc, indexType.clone(type.getShape()), last);
  auto sort = stablehlo::SortOp::create(
      builder, loc, TypeRange{type, places.getType()},
      ValueRange{op.getOperand(), places}, builder.getI64IntegerAttr(last),
      builder.getBoolAttr(true));
  Block &block = sort.getComparator().emplaceBlock();
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto place = RankedTensorType::get({}, indexType.getElementType());
  block.addArguments({scalar, scalar, place, place}, {loc, loc, loc, loc});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    auto before = stablehlo::CompareOp::create(
        builder, loc, block.getArgument(0), block.getArgument(1),
        stablehlo::ComparisonDirection::GT);
    if (isa<FloatType>(type.getElementType()))
      before.setCompareType(stablehlo::ComparisonType::TOTALORDER);
    stablehlo::ReturnOp::create(builder, loc, before->getResults());
  }
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  for (auto [result, sorted] : llvm::zip(op.getResults(), sort.getResults())) {
    ArrayRef<int64_t> limits =
        cast<RankedTensorType>(result.getType()).getShape();
    result.replaceAllUsesWith(stablehlo::SliceOp::create(
        builder, loc, sorted, starts, limits, strides));
  }
  op.erase();
}

/// Regions of scalars get their own copy of each constant that stands around
/// them.
static LogicalResult copyConstantsIntoRegions(Block &block) {
  for (Operation &op : block) {
    if (!isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp, stablehlo::SortOp,
             stablehlo::ScatterOp>(op))
      continue;
    for (Region &region : op.getRegions()) {
      llvm::DenseMap<Value, Value> copies;
      WalkResult result = region.walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands()) {
          Value value = operand.get();
          if (region.isAncestor(value.getParentRegion()))
            continue;
          Operation *source = value.getDefiningOp();
          if (!isa_and_present<stablehlo::ConstantOp>(source)) {
            inner->emitError("reads a value from outside of its region, which "
                             "a kernel cannot hold");
            return WalkResult::interrupt();
          }
          Value &copy = copies[value];
          if (!copy) {
            OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
            copy = builder.clone(*source)->getResult(0);
          }
          operand.set(copy);
        }
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
  }
  return success();
}

/// From here on nothing is merged that a barrier keeps apart.
static void removeBarriers(Block &block) {
  for (auto barrier : llvm::make_early_inc_range(
           block.getOps<stablehlo::OptimizationBarrierOp>())) {
    barrier->replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  }
}

static void decomposeModelOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto topK = dyn_cast<chlo::TopKOp>(op)) {
      decomposeTopK(topK);
      continue;
    }
    auto model = dyn_cast<DecomposableOpInterface>(op);
    if (!model || isWholeKernel(&op))
      continue;
    Operation *before = op.getPrevNode();
    OpBuilder builder(&op);
    op.replaceAllUsesWith(model.decompose(builder));
    auto origin = builder.getStringAttr(op.getName().stripDialect());
    for (Operation *inner = before ? before->getNextNode() : &block.front();
         inner != &op; inner = inner->getNextNode())
      inner->setDiscardableAttr(kOriginAttr, origin);
    op.erase();
  }
}

/// The number of equal pieces in which a sum of `elements` is made: the
/// smallest divisor that makes them small enough, 1 when there is none.
static int64_t getPieces(int64_t elements) {
  if (elements <= 2 * kSumPiece)
    return 1;
  int64_t wanted = std::max<int64_t>(16, llvm::divideCeil(elements, kSumPiece));
  for (int64_t pieces = wanted; pieces < 16 * wanted; ++pieces)
    if (elements % pieces == 0)
      return pieces;
  return 1;
}

/// Splits reductions of whole large tensors in two steps.
static void splitFullReductions(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    FailureOr<SimpleReduction> reduction = matchReduction(&op);
    if (failed(reduction) || reduction->keptElements != 1)
      continue;
    int64_t pieces = getPieces(reduction->reducedElements);
    if (pieces == 1)
      continue;
    OpBuilder builder(&op);
    stablehlo::ReduceOp reduce = reduction->op;
    Value init = reduce.getInitValues()[0];
    StringRef combiner = reduction->combiner->getName().getStringRef();
    // A neutral start for the pieces; the given one is joined at the end.
    auto scalarType = cast<RankedTensorType>(init.getType());
    TypedAttr neutral =
        getNeutralElement(reduction->combiner, scalarType.getElementType());
    if (cast<RankedTensorType>(init.getType()).getElementType() !=
        neutral.getType())
      continue;
    Value start = stablehlo::ConstantOp::create(
        builder, op.getLoc(),
        DenseElementsAttr::get(scalarType, Attribute(neutral)));
    Value rows = stablehlo::ReshapeOp::create(
        builder, op.getLoc(), reduce.getInputs()[0],
        ArrayRef<int64_t>{pieces, reduction->reducedElements / pieces});
    auto partial = stablehlo::ReduceOp::create(
        builder, op.getLoc(), rows, start, ArrayRef<int64_t>{1}, combiner);
    auto total =
        stablehlo::ReduceOp::create(builder, op.getLoc(), partial->getResult(0),
                                    init, ArrayRef<int64_t>{0}, combiner);
    Value result = total->getResult(0);
    if (result.getType() != op.getResult(0).getType())
      result = stablehlo::ReshapeOp::create(
          builder, op.getLoc(), result,
          cast<RankedTensorType>(op.getResult(0).getType()).getShape());
    for (Operation *made : {partial.getOperation(), total.getOperation()})
      if (Attribute origin = op.getDiscardableAttr(kOriginAttr))
        made->setDiscardableAttr(kOriginAttr, origin);
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
  }
}

namespace {

/// Builds the new body of a function from the groups of the old one.
class Rebuilder {
public:
  Rebuilder(Block &block, const FusionGroups &groups)
      : block(block), groups(groups), builder(block.getTerminator()) {}

  LogicalResult run();

private:
  Block &block;
  const FusionGroups &groups;
  OpBuilder builder;
  IRMapping outside;

  Value getOutside(Value value);
  LogicalResult buildKernel(const FusionGroup &group);
  Value cloneInto(Value value, const FusionGroup &group, OpBuilder &inner,
                  IRMapping &inside, Block &body,
                  SmallVectorImpl<Value> &inputs);
  std::string getName(const FusionGroup &group);
  int64_t findSameBuffer(Value output, ArrayRef<Value> candidates);
  int64_t findLastRead(ArrayRef<Value> candidates, const FusionGroup &group);
};

/// The value in the new body; reshapes between kernels are made on demand.
Value Rebuilder::getOutside(Value value) {
  if (Value mapped = outside.lookupOrNull(value))
    return mapped;
  if (value.getParentBlock() != &block)
    return value; // captured by a loop or a choice
  if (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>()) {
    Value source = getOutside(reshape.getOperand());
    Value result = stablehlo::ReshapeOp::create(builder, reshape.getLoc(),
                                                reshape.getType(), source);
    outside.map(value, result);
    return result;
  }
  assert(isa<BlockArgument>(value) && "a value was read before it was made");
  return value;
}

/// The value inside of the kernel: computed there, copied there, or an operand.
Value Rebuilder::cloneInto(Value value, const FusionGroup &group,
                           OpBuilder &inner, IRMapping &inside, Block &body,
                           SmallVectorImpl<Value> &inputs) {
  if (Value mapped = inside.lookupOrNull(value))
    return mapped;
  Operation *op = value.getDefiningOp();
  bool copied =
      op && (group.ops.contains(op) || groups.isCopiedInto(value, group));
  if (!copied) {
    inputs.push_back(value);
    Value argument = body.addArgument(value.getType(), value.getLoc());
    inside.map(value, argument);
    return argument;
  }
  for (Value operand : op->getOperands())
    cloneInto(operand, group, inner, inside, body, inputs);
  Operation *clone = inner.clone(*op, inside);
  clone->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  return inside.lookup(value);
}

std::string Rebuilder::getName(const FusionGroup &group) {
  SmallVector<StringRef> names;
  for (Operation *op : group.ops) {
    StringRef name = op->getName().stripDialect();
    if (auto origin =
            dyn_cast_or_null<StringAttr>(op->getDiscardableAttr(kOriginAttr)))
      name = origin.getValue();
    if (names.size() < 3 && !llvm::is_contained(names, name))
      names.push_back(name);
  }
  return llvm::join(names, "_");
}

/// The operand that stands for the same buffer as the output, among candidates;
/// -1 when there is none.
int64_t Rebuilder::findSameBuffer(Value output, ArrayRef<Value> candidates) {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function) {
    // What a loop carries on takes the place of what it carried.
    for (OpOperand &use : output.getUses())
      for (auto [index, candidate] : llvm::enumerate(candidates))
        if (use.getOwner() == block.getTerminator() &&
            isa<stablehlo::WhileOp>(block.getParentOp()) &&
            use.getOperandNumber() < block.getNumArguments() &&
            candidate == block.getArgument(use.getOperandNumber()))
          return index;
    return -1;
  }
  auto bufferOf = [&](Value value) -> Attribute {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return {};
    unsigned index = argument.getArgNumber();
    if (Attribute buffer = function.getArgAttr(index, pm::kBufferAttr))
      return buffer;
    return function.getArgAttr(index, pm::kStateAttr);
  };
  for (OpOperand &use : output.getUses()) {
    if (use.getOwner() != block.getTerminator())
      continue;
    Attribute buffer =
        function.getResultAttr(use.getOperandNumber(), pm::kBufferAttr);
    if (!buffer)
      buffer = function.getResultAttr(use.getOperandNumber(), pm::kStateAttr);
    for (auto [index, candidate] : llvm::enumerate(candidates))
      if (buffer && bufferOf(candidate) == buffer)
        return index;
  }
  return -1;
}

/// Prefers an operand that nobody else reads.
int64_t Rebuilder::findLastRead(ArrayRef<Value> candidates,
                                const FusionGroup &group) {
  int64_t best = -1;
  for (auto [index, candidate] : llvm::enumerate(candidates)) {
    Value value = candidate;
    bool isKept = value.getParentBlock() != &block ||
                  (isa<BlockArgument>(candidate) &&
                   isa<func::FuncOp>(block.getParentOp()));
    if (isKept) {
      if (best < 0)
        best = index;
      continue;
    }
    bool last = llvm::all_of(candidate.getUsers(), [&](Operation *user) {
      return group.ops.contains(user);
    });
    if (last)
      return index;
    if (best < 0 || isa<BlockArgument>(candidates[best]))
      best = index;
  }
  return best;
}

LogicalResult Rebuilder::buildKernel(const FusionGroup &group) {
  SmallVector<Value> outputs = groups.getOutputs(group);
  auto body = std::make_unique<Block>();
  OpBuilder inner(block.getParentOp()->getContext());
  inner.setInsertionPointToEnd(body.get());
  IRMapping inside;
  SmallVector<Value> inputs, results;
  for (Operation *op : group.ops)
    for (Value value : op->getResults())
      cloneInto(value, group, inner, inside, *body, inputs);
  for (Value output : outputs)
    results.push_back(inside.lookup(output));
  pmrt::YieldOp::create(inner, group.ops.front()->getLoc(), results);

  // What may be computed in place is a matter of the kernel's loops.
  SmallVector<int64_t> inPlace(outputs.size(), -1);
  if (group.fusable) {
    KernelBody kernel;
    for (Operation &op : body->without_terminator())
      kernel.ops.insert(&op);
    kernel.outputs = results;
    FailureOr<KernelPlan> plan = planKernel(kernel);
    if (failed(plan)) {
      Operation *op = group.ops.back();
      return op->emitError("cannot be computed by a kernel");
    }
    llvm::SmallDenseSet<int64_t> taken;
    for (bool sameBuffer : {true, false})
      for (auto [index, output] : llvm::enumerate(outputs)) {
        SmallVector<Value> candidates;
        SmallVector<int64_t> numbers;
        for (Value argument : plan->inPlace[index]) {
          int64_t number = cast<BlockArgument>(argument).getArgNumber();
          if (taken.contains(number) || inPlace[index] >= 0)
            continue;
          candidates.push_back(inputs[number]);
          numbers.push_back(number);
        }
        int64_t choice = sameBuffer ? findSameBuffer(output, candidates)
                                    : findLastRead(candidates, group);
        if (choice < 0)
          continue;
        inPlace[index] = numbers[choice];
        taken.insert(numbers[choice]);
      }
  }

  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(getOutside(input));
  SmallVector<Type> types = llvm::to_vector(ValueRange(outputs).getTypes());
  auto fused =
      pmrt::FusedOp::create(builder, group.ops.back()->getLoc(), types,
                            operands, builder.getDenseI64ArrayAttr(inPlace));
  fused->setAttr("name", builder.getStringAttr(getName(group)));
  fused.getBody().push_back(body.release());
  for (auto [output, result] : llvm::zip(outputs, fused.getResults()))
    outside.map(output, result);
  return success();
}

LogicalResult Rebuilder::run() {
  Operation *terminator = block.getTerminator();
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  for (const FusionGroup *group : groups.getOrder()) {
    if (group->isKernel()) {
      if (failed(buildKernel(*group)))
        return failure();
      continue;
    }
    Operation *op = group->ops.front();
    for (Value operand : op->getOperands())
      getOutside(operand);
    if (hasProgramRegions(op))
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (operand.getParentBlock() == &block)
            getOutside(operand);
      });
    builder.clone(*op, outside);
  }
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(getOutside(operand.get()));
  for (Operation *op : llvm::reverse(old))
    op->erase();
  return success();
}

struct FuseKernels : pipemesh::impl::FuseKernelsBase<FuseKernels> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitError("needs one block to form kernels from, but has ")
          << function.getBody().getBlocks().size();
      return signalPassFailure();
    }
    Block &block = function.getBody().front();
    forEachBlock(block, [](Block &inner) {
      decomposeModelOps(inner);
      splitFullReductions(inner);
    });
    IRRewriter rewriter(function.getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
    bool failure = false;
    forEachBlock(block, [&](Block &inner) {
      removeBarriers(inner);
      failure = failure || failed(copyConstantsIntoRegions(inner));
    });
    if (failure)
      return signalPassFailure();
    sinkCopiedOps(function);
    forEachBlock(block, materialize);
    forEachBlock(block, [&](Block &inner) {
      FusionGroups groups(inner);
      failure = failure || failed(groups.form()) ||
                failed(Rebuilder(inner, groups).run());
    });
    if (failure)
      signalPassFailure();
  }

  /// Calls `visit` with the blocks of loops and choices, the inner ones first,
  /// and with the block itself.
  static void forEachBlock(Block &block,
                           llvm::function_ref<void(Block &)> visit) {
    for (Operation &op : block)
      if (hasProgramRegions(&op))
        for (Region &region : op.getRegions())
          forEachBlock(region.front(), visit);
    visit(block);
  }

  /// Constants that have to be in memory are written once, in front of the
  /// loops.
  static void materialize(Block &block) {
    materializeOperands(block);
    Operation *outermost = nullptr;
    for (Operation *op = block.getParentOp(); hasProgramRegions(op);
         op = op->getParentOp())
      if (isa<stablehlo::WhileOp>(op))
        outermost = op;
    if (!outermost)
      return;
    for (Operation &op : llvm::make_early_inc_range(block))
      if (op.hasAttr(kMaterializedAttr) && op.getNumOperands() == 0)
        op.moveBefore(outermost);
  }
};

} // namespace
