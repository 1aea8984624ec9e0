// Builders of stablehlo ops: the types that they infer and the bodies that they
// make. The text of every op is tested by the .mlir files beside this one.
#include "pipemesh/Dialect/StableHLO/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace pipemesh;

namespace {

class Builders : public testing::Test {
protected:
  Builders() : builder(&context), loc(builder.getUnknownLoc()) {
    context.loadDialect<stablehlo::StableHLODialect, chlo::CHLODialect>();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
  }
  ~Builders() override { EXPECT_TRUE(succeeded(verify(*module))); }

  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element = {}) {
    return RankedTensorType::get(shape,
                                 element ? element : builder.getF32Type());
  }
  Value value(ArrayRef<int64_t> shape, Type element = {}) {
    return stablehlo::splat(builder, loc, tensor(shape, element), 1);
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Builders, ElementwiseOpsKeepTheType) {
  Value x = value({2, 3});
  EXPECT_EQ(stablehlo::AddOp::create(builder, loc, x, x).getType(),
            x.getType());
  EXPECT_EQ(stablehlo::TanhOp::create(builder, loc, x).getType(), x.getType());
  EXPECT_EQ(chlo::SquareOp::create(builder, loc, x).getType(), x.getType());
  Operation *add = stablehlo::AddOp::create(builder, loc, x, x);
  EXPECT_TRUE(add->hasTrait<stablehlo::Elementwise>());
  EXPECT_FALSE(
      stablehlo::ReshapeOp::create(builder, loc, x, ArrayRef<int64_t>{6})
          ->hasTrait<stablehlo::Elementwise>());
}

TEST_F(Builders, ComparisonsChooseTheTypeOfTheirElements) {
  auto direction = stablehlo::ComparisonDirection::LT;
  auto compare = [&](Type element) {
    Value x = value({4}, element);
    auto op = stablehlo::CompareOp::create(builder, loc, x, x, direction);
    EXPECT_EQ(op.getType(), tensor({4}, builder.getI1Type()));
    return *op.getCompareType();
  };
  EXPECT_EQ(compare(builder.getF32Type()), stablehlo::ComparisonType::FLOAT);
  EXPECT_EQ(compare(builder.getI32Type()), stablehlo::ComparisonType::SIGNED);
  EXPECT_EQ(compare(builder.getI1Type()), stablehlo::ComparisonType::UNSIGNED);
  EXPECT_EQ(compare(builder.getIntegerType(8, /*isSigned=*/false)),
            stablehlo::ComparisonType::UNSIGNED);
}

TEST_F(Builders, ShapesAreInferred) {
  Value x = value({2, 3, 4});
  EXPECT_EQ(stablehlo::TransposeOp::create(builder, loc, x,
                                           ArrayRef<int64_t>{2, 0, 1})
                .getType(),
            tensor({4, 2, 3}));
  EXPECT_EQ(stablehlo::SliceOp::create(
                builder, loc, x, ArrayRef<int64_t>{0, 1, 0},
                ArrayRef<int64_t>{2, 3, 4}, ArrayRef<int64_t>{1, 1, 3})
                .getType(),
            tensor({2, 2, 2}));
  EXPECT_EQ(stablehlo::ConcatenateOp::create(builder, loc, ValueRange{x, x}, 1)
                .getType(),
            tensor({2, 6, 4}));
  EXPECT_EQ(stablehlo::PadOp::create(
                builder, loc, x,
                stablehlo::scalar(builder, loc, builder.getF32Type(), 0),
                ArrayRef<int64_t>{1, 0, -1}, ArrayRef<int64_t>{0, 0, 0},
                ArrayRef<int64_t>{0, 2, 0})
                .getType(),
            tensor({3, 7, 3}));
  EXPECT_EQ(stablehlo::ReshapeOp::create(builder, loc, x, ArrayRef<int64_t>{24})
                .getType(),
            tensor({24}));
  EXPECT_EQ(stablehlo::ConvertOp::create(builder, loc, x, builder.getBF16Type())
                .getType(),
            tensor({2, 3, 4}, builder.getBF16Type()));
  EXPECT_EQ(
      stablehlo::broadcast(builder, loc, x, {5, 2, 3, 4}, {1, 2, 3}).getType(),
      tensor({5, 2, 3, 4}));
}

TEST_F(Builders, ContractionsTakeTheLeftElementTypeUnlessTold) {
  Value x = value({8, 5, 64}, builder.getBF16Type());
  Value y = value({8, 7, 64}, builder.getBF16Type());
  SmallVector<int64_t> zero{0}, two{2};
  EXPECT_EQ(
      stablehlo::DotGeneralOp::create(builder, loc, x, y, zero, zero, two, two)
          .getType(),
      tensor({8, 5, 7}, builder.getBF16Type()));
  EXPECT_EQ(stablehlo::DotGeneralOp::create(builder, loc, x, y, zero, zero, two,
                                            two, builder.getF32Type())
                .getType(),
            tensor({8, 5, 7}));
}

TEST_F(Builders, ReductionsHaveTheirBody) {
  Value x = value({8, 10});
  Value sum = stablehlo::reduceSum(builder, loc, x, {1});
  EXPECT_EQ(sum.getType(), tensor({8}));
  auto op = sum.getDefiningOp<stablehlo::ReduceOp>();
  EXPECT_TRUE(isa_and_nonnull<stablehlo::AddOp>(op.getAppliedOp()));
  Value largest = stablehlo::reduceMax(builder, loc, x, {0, 1});
  EXPECT_EQ(largest.getType(), tensor({}));
  auto init = largest.getDefiningOp<stablehlo::ReduceOp>()
                  .getInitValues()[0]
                  .getDefiningOp<stablehlo::ConstantOp>();
  auto lowest =
      cast<DenseElementsAttr>(init.getValue()).getSplatValue<APFloat>();
  EXPECT_TRUE(lowest.isInfinity() && lowest.isNegative());
}

TEST_F(Builders, SplatsAreRoundedToTheirType) {
  auto splat = [&](Type element, double number) {
    Value x = stablehlo::splat(builder, loc, tensor({2}, element), number);
    return cast<DenseElementsAttr>(cast<ElementsAttr>(
        x.getDefiningOp<stablehlo::ConstantOp>().getValue()));
  };
  EXPECT_EQ(
      splat(builder.getI32Type(), -100).getSplatValue<APInt>().getSExtValue(),
      -100);
  EXPECT_TRUE(splat(builder.getI1Type(), 2).getSplatValue<bool>());
  EXPECT_EQ(splat(builder.getBF16Type(), 1.0 / 3)
                .getSplatValue<APFloat>()
                .convertToFloat(),
            0.333984375f);
}

TEST_F(Builders, InferenceRefusesWithoutAMessageWhenThereIsNoLocation) {
  Value x = value({2, 3});
  SmallVector<Type> types;
  stablehlo::TransposeOp::Properties properties;
  properties.permutation = builder.getDenseI64ArrayAttr({0, 0});
  stablehlo::TransposeOp::Adaptor adaptor(ValueRange(x), DictionaryAttr(),
                                          properties);
  bool diagnosed = false;
  ScopedDiagnosticHandler handler(&context,
                                  [&](Diagnostic &) { diagnosed = true; });
  EXPECT_TRUE(failed(stablehlo::TransposeOp::inferReturnTypes(
      &context, std::nullopt, adaptor, types)));
  EXPECT_FALSE(diagnosed);
}

} // namespace
