//===- WindowRules.cpp - sharding rules of reduce_window and convolution --===//

#include "Monoids.h"
#include "RuleBuilder.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace pipemesh;
using namespace pipemesh::stablehlo;

/// Along a dimension of which each window is one element in its place, blocks
/// are by themselves; along others windows reach into other blocks.
static ShardingRule reduceWindow(ReduceWindowOp op) {
  RuleBuilder builder(op);
  unsigned count = op.getInputs().size();
  ArrayRef<int64_t> from = shapeOf(op.getInputs()[0]);
  ArrayRef<int64_t> to = shapeOf(op->getResult(0));
  for (auto [dim, window] : llvm::enumerate(op.getWindows())) {
    bool isKept = window.size == 1 && window.stride == 1 &&
                  window.baseDilation == 1 && window.low == 0 &&
                  window.high == 0;
    bool isAlike = isKept || areCutAlike(from[dim], to[dim]);
    int64_t factor = isKept ? builder.parallel(from[dim])
                            : builder.exchanged(std::max(from[dim], to[dim]));
    int64_t source =
        isAlike ? factor
                : builder.replicated(from[dim], "the result has many times its "
                                                "size, or a small part of it");
    for (unsigned index = 0; index < count; ++index)
      builder.operand(index, dim, source).result(index, dim, factor);
  }
  Operation *body = getAppliedOp(op.getBody());
  if (count == 1 && body && isNeutral(op.getInitValues()[0], body) &&
      getMonoidKind(body, elementOf(op.getInputs()[0])) == ReductionKind::Sum)
    builder.linear({0});
  return builder.take();
}

/// Batch, groups and output features are parallel, input features are summed.
static ShardingRule convolution(ConvolutionOp op) {
  RuleBuilder builder(op);
  ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  int64_t groups = op.getFeatureGroupCount();
  bool hasBatchGroups = op.getBatchGroupCount() > 1;

  int64_t batch = dims.getInputBatchDimension();
  int64_t kernelIn = dims.getKernelInputFeatureDimension();
  int64_t kernelOut = dims.getKernelOutputFeatureDimension();
  constexpr const char *grouped = "groups of the batch meet their own features";
  if (hasBatchGroups) {
    builder.operand(0, batch, builder.replicated(lhs[batch], grouped));
  } else {
    int64_t factor = builder.parallel(lhs[batch]);
    builder.operand(0, batch, factor);
    builder.result(0, dims.getOutputBatchDimension(), factor);
  }
  // Features are (group, feature of the group).
  if (groups > 1) {
    int64_t group = builder.parallel(groups);
    builder.operand(0, dims.getInputFeatureDimension(), group);
    builder.operand(1, kernelOut, group);
    builder.result(0, dims.getOutputFeatureDimension(), group);
  }
  if (rhs[kernelIn] > 1 || groups == 1) {
    int64_t summed = builder.reduction(rhs[kernelIn]);
    builder.operand(0, dims.getInputFeatureDimension(), summed);
    builder.operand(1, kernelIn, summed);
  }
  int64_t features = rhs[kernelOut] / groups;
  if (hasBatchGroups) {
    builder.operand(1, kernelOut, builder.replicated(features, grouped));
  } else if (features > 1 || groups == 1) {
    int64_t factor = builder.parallel(features);
    builder.operand(1, kernelOut, factor);
    builder.result(0, dims.getOutputFeatureDimension(), factor);
  }
  for (auto [number, window] : llvm::enumerate(op.getWindows())) {
    int64_t from = dims.getInputSpatialDimensions()[number];
    int64_t kernel = dims.getKernelSpatialDimensions()[number];
    int64_t to = dims.getOutputSpatialDimensions()[number];
    bool isKept = window.size == 1 && window.stride == 1 &&
                  window.inputDilation == 1 && window.low == 0 &&
                  window.high == 0;
    int64_t factor = isKept ? builder.parallel(lhs[from])
                            : builder.exchanged(std::max(lhs[from], out[to]));
    builder.result(0, to, factor);
    builder.operand(
        0, from,
        isKept || areCutAlike(lhs[from], out[to])
            ? factor
            : builder.replicated(lhs[from], "the result has many times its "
                                            "size, or a small part of it"));
    builder.operand(1, kernel,
                    builder.replicated(window.size,
                                       "a window meets the whole kernel"));
  }
  builder.linear({0}).linear({1});
  return builder.take();
}

void pipemesh::attachWindowRules(MLIRContext *context) {
  attachRule<ReduceWindowOp, reduceWindow>(context);
  attachRule<ConvolutionOp, convolution>(context);
}
