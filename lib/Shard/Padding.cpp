//===- Padding.cpp - what lies behind the end of short blocks -------------===//

#include "Padding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

bool pipemesh::isUneven(int64_t size, ArrayRef<StringAttr> axes, int64_t block,
                        const MeshAxes &mesh) {
  int64_t blocks = 1;
  for (StringAttr axis : axes)
    blocks *= mesh.sizeOf(axis);
  return block && blocks > 1 ? block * blocks != size : size % blocks != 0;
}

bool Padding::isUnevenDim(Value value, unsigned dim) const {
  pm::ShardingAttr sharding = pm::getSharding(value);
  return sharding &&
         isUneven(cast<RankedTensorType>(value.getType()).getDimSize(dim),
                  sharding.getDims()[dim].getAxes(),
                  sharding.getDims()[dim].getBlockSize(), mesh);
}

/// A slice pads with zero, and what stays as it was keeps its padding. What a
/// reduce-scatter or an exchange leaves behind the end may be anything.
bool Padding::keepsZero(pm::ReshardOp op) const {
  if (!isZero(op.getInput()))
    return false;
  pm::ShardingAttr source = op.getSource(), target = op.getTarget();
  llvm::SmallDenseSet<StringAttr, 4> used(source.getPartialAxes().begin(),
                                          source.getPartialAxes().end());
  for (pm::DimShardingAttr dim : source.getDims())
    used.insert(dim.getAxes().begin(), dim.getAxes().end());
  for (auto [index, from, to] :
       llvm::enumerate(source.getDims(), target.getDims())) {
    if (!isUnevenDim(op.getResult(), index))
      continue;
    bool isSame = from.getAxes() == to.getAxes() &&
                  from.getBlockSize() == to.getBlockSize();
    bool isSliced = from.getAxes().empty() &&
                    llvm::none_of(to.getAxes(), [&](StringAttr a) {
                      return used.contains(a);
                    });
    if (!isSame && !isSliced)
      return false;
  }
  return true;
}

/// Whether padding of the result is zero, given the operands' of which that is
/// known.
bool Padding::makesZero(Operation *op, OpResult result) const {
  auto all = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return isZero(value); });
  };
  /// Whether each uneven dimension of the result is that of a zero operand.
  auto comesFrom = [&](llvm::function_ref<bool(unsigned)> isFromZero) {
    for (unsigned dim = 0,
                  rank = cast<RankedTensorType>(result.getType()).getRank();
         dim < rank; ++dim)
      if (isUnevenDim(result, dim) && !isFromZero(dim))
        return false;
    return true;
  };
  if (isKnownZero(result))
    return true;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    // What is no splat is cut, and padded with zero.
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && !elements.isSplat();
  }
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MulOp,
          stablehlo::NegOp, stablehlo::AbsOp, stablehlo::SqrtOp,
          stablehlo::CbrtOp, stablehlo::TanhOp, stablehlo::SineOp,
          stablehlo::SignOp, stablehlo::Expm1Op, stablehlo::Log1pOp,
          stablehlo::FloorOp, stablehlo::CeilOp, stablehlo::MaxOp,
          stablehlo::MinOp, stablehlo::ConvertOp, stablehlo::ReshapeOp,
          stablehlo::TransposeOp, stablehlo::SliceOp, stablehlo::ConcatenateOp,
          chlo::ErfOp, chlo::SquareOp>(op))
    return all(op->getOperands());
  if (auto reshard = dyn_cast<pm::ReshardOp>(op))
    return keepsZero(reshard);
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    return all({select.getOnTrue(), select.getOnFalse()});
  if (auto barrier = dyn_cast<stablehlo::OptimizationBarrierOp>(op))
    return isZero(op->getOperand(result.getResultNumber()));
  if (auto update = dyn_cast<pm::AdamWOp>(op))
    return all({update.getParam(), update.getGrad(), update.getMoment1(),
                update.getMoment2()});
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    // A dimension of size 1 that is repeated has no padding of its own.
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(broadcast.getOperand().getType()).getShape();
    ArrayRef<int64_t> dims = broadcast.getBroadcastDimensions();
    return isZero(broadcast.getOperand()) && comesFrom([&](unsigned dim) {
             const int64_t *from = llvm::find(dims, int64_t(dim));
             return from != dims.end() &&
                    shape[from - dims.begin()] ==
                        cast<RankedTensorType>(result.getType())
                            .getDimSize(dim);
           });
  }
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return isa_and_nonnull<stablehlo::AddOp>(reduce.getAppliedOp()) &&
           all(reduce.getInputs()) &&
           llvm::all_of(reduce.getInitValues(), isKnownZero);
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
    int64_t batching = dims.getLhsBatchingDimensions().size();
    int64_t lhsFree = cast<RankedTensorType>(dot.getLhs().getType()).getRank() -
                      batching - dims.getLhsContractingDimensions().size();
    // Of a batch both sides have padding, and zero times what is not a number is
    // not zero.
    return comesFrom([&](int64_t dim) {
      bool fromLhs = dim < batching + lhsFree,
           fromRhs = dim < batching || !fromLhs;
      return (!fromLhs || isZero(dot.getLhs())) &&
             (!fromRhs || isZero(dot.getRhs()));
    });
  }
  // No token has an id of the padding, and its probability is zero.
  if (isa<pm::EmbeddingGradOp>(op))
    return comesFrom([](unsigned dim) { return dim == 0; });
  if (isa<pm::CrossEntropyGradOp>(op)) {
    unsigned last = cast<RankedTensorType>(result.getType()).getRank() - 1;
    return comesFrom([&](unsigned dim) { return dim == last; });
  }
  return false;
}

void Padding::notePadded(Region &region) {
  auto note = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
      if (isUnevenDim(value, dim)) {
        padded.insert(value);
        return;
      }
  };
  for (Block &block : region) {
    for (BlockArgument arg : block.getArguments())
      note(arg);
    for (Operation &op : block) {
      for (Value result : op.getResults())
        note(result);
      for (Region &inner : op.getRegions())
        notePadded(inner);
    }
  }
}

/// What a loop carries is zero if it starts so and every iteration leaves it
/// so; what a branch gives, if all branches do.
bool Padding::followRegions(Operation *op) {
  bool changed = false;
  auto loop = dyn_cast<stablehlo::WhileOp>(op);
  if (loop)
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      if (isZero(op->getOperand(index)) && !dirtyCarries.contains(result)) {
        zero.insert(result);
        zero.insert(loop.getCond().getArgument(index));
        zero.insert(loop.getBody().getArgument(index));
      }
  auto manual = dyn_cast<pm::ManualComputationOp>(op);
  if (manual)
    for (auto [operand, argument] :
         llvm::zip(op->getOperands(), manual.getBody().getArguments()))
      if (isZero(operand))
        zero.insert(argument);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      changed |= followBlock(block);
  if (loop) {
    Operation *end = loop.getBody().front().getTerminator();
    for (auto [value, result] : llvm::zip(end->getOperands(), op->getResults()))
      if (zero.contains(result) && !isZero(value))
        changed |= dirtyCarries.insert(result).second;
    return changed;
  }
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (padded.contains(result) &&
        llvm::all_of(op->getRegions(), [&, index = index](Region &region) {
          Value value = region.front().getTerminator()->getOperand(index);
          pm::ShardingAttr sharding = pm::getSharding(value);
          return isZero(value) && sharding && sharding.getPartialAxes().empty();
        }))
      zero.insert(result);
  return changed;
}

bool Padding::followBlock(Block &block) {
  bool changed = false;
  for (Operation &op : block) {
    if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp,
            pm::ManualComputationOp>(op)) {
      changed |= followRegions(&op);
      continue;
    }
    for (OpResult result : op.getResults())
      if (padded.contains(result) && makesZero(&op, result))
        zero.insert(result);
  }
  return changed;
}

Padding::Padding(ModuleOp module, const MeshAxes &mesh) : mesh(mesh) {
  for (auto function : module.getOps<func::FuncOp>())
    notePadded(function.getBody());
  if (padded.empty())
    return;

  // Buffers are zero until a fragment is found that writes something else.
  llvm::DenseSet<Attribute> dirty;
  auto isContracted = [](StringRef role) {
    return role == "parameter" || role == "moment1" || role == "moment2";
  };
  llvm::DenseSet<Attribute> states;
  module.walk([&](pm::BufferOp buffer) {
    Attribute name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
    if (buffer.getKind() == pm::BufferKind::State &&
        isContracted(buffer.getRole().value_or("")))
      states.insert(name);
    else if (buffer.getKind() == pm::BufferKind::Input)
      dirty.insert(name);
  });
  bool changed = true;
  while (changed) {
    changed = false;
    zero.clear();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (BlockArgument arg : function.getArguments()) {
        Attribute buffer =
            function.getArgAttr(arg.getArgNumber(), pm::kBufferAttr);
        auto state = function.getArgAttrOfType<pm::StateAttr>(
            arg.getArgNumber(), pm::kStateAttr);
        if (buffer ? !dirty.contains(buffer)
                   : state &&
                         isContracted(pm::stringifyStateKind(state.getKind())))
          zero.insert(arg);
      }
      Block &block = function.getBody().front();
      changed |= followBlock(block);
      for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
        Attribute buffer =
            function.getResultAttr(operand.getOperandNumber(), pm::kBufferAttr);
        if (buffer && !states.contains(buffer) && !isZero(operand.get()))
          changed |= dirty.insert(buffer).second;
      }
    }
  }
}
