//===- Costs.cpp - arithmetic and traffic of the larger ops ---------------===//

#include "ShardingAlgebra.h"
#include "mlir/IR/DialectRegistry.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Shard/Models.h"

using namespace mlir;
using namespace pipemesh;

/// Each operand read and each result written once.
static OpCost movedOnce(Operation *op) {
  OpCost cost;
  for (Type type : op->getOperandTypes())
    cost.bytesRead += byteSizeOf(type);
  for (Type type : op->getResultTypes())
    cost.bytesWritten += byteSizeOf(type);
  return cost;
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Two operations for each product of the contraction.
static OpCost dotGeneral(stablehlo::DotGeneralOp op) {
  OpCost cost = movedOnce(op);
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  int64_t contracted = 1;
  for (int64_t dim : op.getDotDimensionNumbers().getLhsContractingDimensions())
    contracted *= lhs.getDimSize(dim);
  cost.flops = 2 * contracted * elementsOf(op.getResult());
  return cost;
}

/// The (query, key) pairs that a row block sees: all, or the causal triangle,
/// or its band of `window` keys.
static int64_t visiblePairs(int64_t sequence, int64_t keys, bool causal,
                            int64_t window) {
  if (!causal && window == 0)
    return sequence * keys;
  int64_t pairs = 0;
  for (int64_t query = 0; query < sequence; ++query) {
    int64_t visible = causal ? std::min(query + 1, keys) : keys;
    pairs += window > 0 ? std::min(visible, window) : visible;
  }
  return pairs;
}

/// `products` multiplications of a row of width d for each visible pair (Dao
/// et al. 2022: two forward, five backward), and a few for its softmax.
template <typename AttentionLike>
static OpCost attentionCost(AttentionLike op, int64_t products) {
  OpCost cost = movedOnce(op);
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto key = cast<RankedTensorType>(op.getKey().getType());
  int64_t pairs = visiblePairs(query.getDimSize(1), key.getDimSize(1),
                               op.getCausal(), op.getWindow());
  cost.flops = query.getDimSize(0) * query.getDimSize(2) * pairs *
               (2 * products * query.getDimSize(3) + 4);
  return cost;
}

static OpCost attention(pm::AttentionOp op) { return attentionCost(op, 2); }
static OpCost attentionGrad(pm::AttentionGradOp op) {
  return attentionCost(op, 5);
}

/// A few operations for each element of the largest operand.
template <int perElement> static OpCost perElementCost(Operation *op) {
  OpCost cost = movedOnce(op);
  int64_t elements = 0;
  for (Value operand : op->getOperands())
    elements = std::max(elements, elementsOf(operand));
  cost.flops = perElement * elements;
  return cost;
}

/// Only the rows that are looked up are read.
static OpCost embedding(pm::EmbeddingOp op) {
  OpCost cost;
  cost.bytesWritten = byteSizeOf(op.getResult().getType());
  cost.bytesRead = cost.bytesWritten + byteSizeOf(op.getIds().getType());
  return cost;
}

static OpCost reduce(stablehlo::ReduceOp op) {
  OpCost cost = movedOnce(op);
  for (Value input : op.getInputs())
    cost.flops += elementsOf(input);
  return cost;
}

/// Views and values that a consumer folds in.
static OpCost nothing(Operation *) { return OpCost(); }

namespace {
template <typename OpTy, auto cost>
struct CostModel : CostOpInterface::ExternalModel<CostModel<OpTy, cost>, OpTy> {
  OpCost getCost(Operation *op) const { return cost(cast<OpTy>(op)); }
};
} // namespace

template <typename OpTy, auto cost> static void attach(MLIRContext *context) {
  OpTy::template attachInterface<CostModel<OpTy, cost>>(*context);
}

template <typename... OpTys> static void attachMoves(MLIRContext *context) {
  (attach<OpTys, movedOnce>(context), ...);
}

void pipemesh::registerCostModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, stablehlo::StableHLODialect *) {
        attach<stablehlo::DotGeneralOp, dotGeneral>(context);
        attach<stablehlo::ReduceOp, reduce>(context);
        attach<stablehlo::ReshapeOp, nothing>(context);
        attach<stablehlo::ConstantOp, nothing>(context);
        // No arithmetic.
        attachMoves<stablehlo::TransposeOp, stablehlo::BroadcastInDimOp,
                    stablehlo::SliceOp, stablehlo::DynamicSliceOp,
                    stablehlo::DynamicUpdateSliceOp, stablehlo::ConcatenateOp,
                    stablehlo::PadOp, stablehlo::ReverseOp,
                    stablehlo::GatherOp, stablehlo::IotaOp,
                    stablehlo::ConvertOp, stablehlo::BitcastConvertOp>(context);
      });
  registry.addExtension(+[](MLIRContext *context, pm::PMDialect *) {
    attach<pm::AttentionOp, attention>(context);
    attach<pm::AttentionGradOp, attentionGrad>(context);
    attach<pm::EmbeddingOp, embedding>(context);
    attach<pm::RMSNormOp, perElementCost<4>>(context);
    attach<pm::RMSNormInputGradOp, perElementCost<7>>(context);
    attach<pm::RMSNormWeightGradOp, perElementCost<3>>(context);
    attach<pm::LayerNormOp, perElementCost<7>>(context);
    attach<pm::LayerNormInputGradOp, perElementCost<10>>(context);
    attach<pm::LayerNormWeightGradOp, perElementCost<4>>(context);
    attach<pm::RopeOp, perElementCost<3>>(context);
    attach<pm::CrossEntropyOp, perElementCost<3>>(context);
    attach<pm::CrossEntropyGradOp, perElementCost<4>>(context);
    attach<pm::AdamWOp, perElementCost<15>>(context);
  });
}
