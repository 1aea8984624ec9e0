//===- PrepareGemms.cpp - pm-prepare-gemms --------------------------------===//

#include "GemmLayout.h"
#include "pipemesh/Dialect/StableHLO/TensorBuilder.h"
#include "pipemesh/Lower/Kernels/LibraryProduct.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pipemesh {
#define GEN_PASS_DEF_PREPAREGEMMS
#include "pipemesh/Lower/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;
using stablehlo::TensorBuilder;

/// Transposes an operand to batch, free, contracted dimensions in that order.
static Value toCanonical(TensorBuilder &b, Value operand,
                         ArrayRef<int64_t> batching,
                         ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> permutation(batching);
  int64_t rank = TensorBuilder::typeOf(operand).getRank();
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(batching, i) && !llvm::is_contained(contracting, i))
      permutation.push_back(i);
  llvm::append_range(permutation, contracting);
  if (llvm::is_sorted(permutation))
    return operand;
  return b.transpose(operand, permutation);
}

static SmallVector<int64_t> range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, end));
}

static bool isHalf(Value value) {
  Type type = TensorBuilder::typeOf(value).getElementType();
  return type.isBF16() || type.isF16();
}

/// The host multiplies float32. Half precision has few bits, so its products
/// are the same in float32, and are added up there.
static void widenHalfPrecision(stablehlo::DotGeneralOp dot) {
  Type resultType = TensorBuilder::typeOf(dot.getResult()).getElementType();
  bool isSingleResult = resultType.isF32();
  if (!isHalf(dot.getLhs()) || !isHalf(dot.getRhs()) ||
      (!isSingleResult && !isHalf(dot.getResult())))
    return;
  OpBuilder builder(dot);
  TensorBuilder b(builder, dot.getLoc());
  Type single = builder.getF32Type();
  dot->setOperand(0, b.convert(dot.getLhs(), single));
  dot->setOperand(1, b.convert(dot.getRhs(), single));
  if (isSingleResult)
    return;
  dot.getResult().setType(
      cast<RankedTensorType>(dot.getResult().getType()).clone(single));
  builder.setInsertionPointAfter(dot);
  auto narrow = stablehlo::ConvertOp::create(builder, dot.getLoc(),
                                             dot.getResult(), resultType);
  dot.getResult().replaceAllUsesExcept(narrow, narrow);
}

namespace {
struct PrepareGemms : pipemesh::impl::PrepareGemmsBase<PrepareGemms> {
  using Base = pipemesh::impl::PrepareGemmsBase<PrepareGemms>;
  using Base::Base;

  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      if (!halfPrecision || !isLibraryProduct(dot))
        widenHalfPrecision(dot);
      // Others are fused kernels, which take any order of dimensions.
      if (isLibraryProduct(dot) && !computeGemmLayout(dot))
        dots.push_back(dot);
    });
    for (stablehlo::DotGeneralOp dot : dots) {
      OpBuilder builder(dot);
      TensorBuilder b(builder, dot.getLoc());
      auto numbers = dot.getDotDimensionNumbers();
      int64_t batch = numbers.getLhsBatchingDimensions().size();
      int64_t contracted = numbers.getLhsContractingDimensions().size();
      Value lhs = toCanonical(b, dot.getLhs(), numbers.getLhsBatchingDimensions(),
                              numbers.getLhsContractingDimensions());
      Value rhs = toCanonical(b, dot.getRhs(), numbers.getRhsBatchingDimensions(),
                              numbers.getRhsContractingDimensions());
      int64_t lhsRank = TensorBuilder::typeOf(lhs).getRank();
      int64_t rhsRank = TensorBuilder::typeOf(rhs).getRank();
      Value result = b.dot(lhs, rhs, range(0, batch), range(0, batch),
                           range(lhsRank - contracted, lhsRank),
                           range(rhsRank - contracted, rhsRank));
      result.setType(dot.getResult().getType());
      result.getDefiningOp()->setDiscardableAttrs(
          dot->getDiscardableAttrDictionary());
      dot.getResult().replaceAllUsesWith(result);
      dot.erase();
    }
  }
};
} // namespace
