//===- Padding.cpp - what lies behind the end of short blocks -------------===//

#include "Padding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;

bool pipemesh::isUneven(int64_t size, ArrayRef<StringAttr> axes,
                        const MeshAxes &mesh) {
  int64_t blocks = 1;
  for (StringAttr axis : axes) {
    if (mesh.isTemporal(axis))
      return false;
    blocks *= mesh.sizeOf(axis);
  }
  return size % blocks != 0;
}

bool Padding::isUnevenDim(Value value, unsigned dim) const {
  pm::ShardingAttr sharding = pm::getSharding(value);
  return sharding &&
         isUneven(cast<RankedTensorType>(value.getType()).getDimSize(dim),
                  sharding.getDims()[dim].getAxes(), mesh);
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
    // A reduce-scatter leaves the end of a short block as it is.
    return isZero(op->getOperand(0)) &&
           (hasPadding(op->getOperand(0)) ||
            reshard.getSource().getPartialAxes().size() ==
                reshard.getTarget().getPartialAxes().size());
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    return all({select.getOnTrue(), select.getOnFalse()});
  if (auto barrier = dyn_cast<stablehlo::OptimizationBarrierOp>(op))
    return isZero(op->getOperand(result.getResultNumber()));
  if (auto update = dyn_cast<pm::AdamWOp>(op))
    return all({update.getParam(), update.getGrad(), update.getMoment1(),
                update.getMoment2()});
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return isZero(broadcast.getOperand()) && comesFrom([&](unsigned dim) {
             return llvm::is_contained(broadcast.getBroadcastDimensions(), dim);
           });
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return isa_and_nonnull<stablehlo::AddOp>(reduce.getAppliedOp()) &&
           all(reduce.getInputs());
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
    int64_t batching = dims.getLhsBatchingDimensions().size();
    int64_t lhsFree = cast<RankedTensorType>(dot.getLhs().getType()).getRank() -
                      batching - dims.getLhsContractingDimensions().size();
    return comesFrom([&](int64_t dim) {
      bool fromLhs = dim < batching + lhsFree,
           fromRhs = dim < batching || !fromLhs;
      return (fromLhs && isZero(dot.getLhs())) ||
             (fromRhs && isZero(dot.getRhs()));
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

Padding::Padding(ModuleOp module, const MeshAxes &mesh) : mesh(mesh) {
  auto note = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
      if (isUnevenDim(value, dim)) {
        padded.insert(value);
        return;
      }
  };
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      for (Block &block : function.getBody()) {
        for (BlockArgument arg : block.getArguments())
          note(arg);
        for (Operation &op : block)
          for (Value result : op.getResults())
            note(result);
      }
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
      for (Operation &op : block)
        for (OpResult result : op.getResults())
          if (padded.contains(result) && makesZero(&op, result))
            zero.insert(result);
      for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
        Attribute buffer =
            function.getResultAttr(operand.getOperandNumber(), pm::kBufferAttr);
        if (buffer && !states.contains(buffer) && !isZero(operand.get()))
          changed |= dirty.insert(buffer).second;
      }
    }
  }
}
