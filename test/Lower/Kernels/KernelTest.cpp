//===- KernelTest.cpp - kernels of stablehlo ops --------------------------===//

#include "CompiledFunction.h"
#include <gtest/gtest.h>

using namespace pipemesh::test;

namespace {

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class Sizes : public ::testing::TestWithParam<int> {
protected:
  void check(std::string text, double tolerance = 2e-6) {
    // {N} is the size, {M} one more.
    text = replaceAll(std::move(text), "{N}", std::to_string(GetParam()));
    text = replaceAll(std::move(text), "{M}", std::to_string(GetParam() + 1));
    checkKernels(text, tolerance);
  }
};

TEST_P(Sizes, Elementwise) {
  check(R"(
func.func @f(%a: tensor<3x{N}xf32>, %b: tensor<3x{N}xf32>) -> (tensor<3x{N}xf32>, tensor<3x{N}xf32>) {
  %0 = stablehlo.add %a, %b : tensor<3x{N}xf32>
  %1 = stablehlo.multiply %0, %a : tensor<3x{N}xf32>
  %2 = stablehlo.subtract %1, %b : tensor<3x{N}xf32>
  %3 = stablehlo.maximum %2, %a : tensor<3x{N}xf32>
  %4 = stablehlo.negate %3 : tensor<3x{N}xf32>
  %5 = stablehlo.logistic %4 : tensor<3x{N}xf32>
  return %2, %5 : tensor<3x{N}xf32>, tensor<3x{N}xf32>
}
)");
}

TEST_P(Sizes, Softmax) {
  check(R"(
func.func @f(%x: tensor<5x{N}xf32>) -> (tensor<5x{N}xf32>, tensor<5xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<5x{N}xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x{N}xf32>
  %s = stablehlo.subtract %x, %mb : tensor<5x{N}xf32>
  %e = stablehlo.exponential %s : tensor<5x{N}xf32>
  %d = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x{N}xf32>, tensor<f32>) -> tensor<5xf32>
  %db = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<5xf32>) -> tensor<5x{N}xf32>
  %p = stablehlo.divide %e, %db : tensor<5x{N}xf32>
  return %p, %d : tensor<5x{N}xf32>, tensor<5xf32>
}
)");
}

TEST_P(Sizes, ColumnSums) {
  check(R"(
func.func @f(%x: tensor<2x3x{N}xf32>, %y: tensor<2x3x{N}xf32>, %r: tensor<2x3xf32>) -> (tensor<{N}xf32>, tensor<{N}xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x{N}xf32>
  %n = stablehlo.multiply %x, %rb : tensor<2x3x{N}xf32>
  %p = stablehlo.multiply %n, %y : tensor<2x3x{N}xf32>
  %w = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x{N}xf32>, tensor<f32>) -> tensor<{N}xf32>
  %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x{N}xf32>, tensor<f32>) -> tensor<{N}xf32>
  return %w, %b : tensor<{N}xf32>, tensor<{N}xf32>
}
)");
}

TEST_P(Sizes, WholeSums) {
  check(R"(
func.func @f(%x: tensor<7x{N}xf32>, %y: tensor<{N}xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %xx = stablehlo.multiply %x, %x : tensor<7x{N}xf32>
  %yy = stablehlo.multiply %y, %y : tensor<{N}xf32>
  %sx = stablehlo.reduce(%xx init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<7x{N}xf32>, tensor<f32>) -> tensor<f32>
  %sy = stablehlo.reduce(%yy init: %one) applies stablehlo.add across dimensions = [0] : (tensor<{N}xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.add %sx, %sy : tensor<f32>
  %n = stablehlo.sqrt %s : tensor<f32>
  return %n : tensor<f32>
}
)");
}

TEST_P(Sizes, MiddleReduction) {
  check(R"(
func.func @f(%x: tensor<2x5x{N}xf32>) -> tensor<2x{N}xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x5x{N}xf32>, tensor<f32>) -> tensor<2x{N}xf32>
  return %s : tensor<2x{N}xf32>
}
)");
}

TEST_P(Sizes, ShiftedTargets) {
  check(R"(
func.func @f(%labels: tensor<4x{N}xi32> {test.low = -100 : i64}) -> (tensor<4x{N}xi32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ignored = stablehlo.constant dense<-100> : tensor<4x1xi32>
  %all = stablehlo.constant dense<-100> : tensor<4x{N}xi32>
  %wide = stablehlo.concatenate %labels, %ignored, dim = 1 : (tensor<4x{N}xi32>, tensor<4x1xi32>) -> tensor<4x{M}xi32>
  %targets = stablehlo.slice %wide [0:4, 1:{M}] : (tensor<4x{M}xi32>) -> tensor<4x{N}xi32>
  %counted = stablehlo.compare NE, %targets, %all, SIGNED : (tensor<4x{N}xi32>, tensor<4x{N}xi32>) -> tensor<4x{N}xi1>
  %ones = stablehlo.convert %counted : (tensor<4x{N}xi1>) -> tensor<4x{N}xf32>
  %count = stablehlo.reduce(%ones init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x{N}xf32>, tensor<f32>) -> tensor<f32>
  return %targets, %count : tensor<4x{N}xi32>, tensor<f32>
}
)");
}

TEST_P(Sizes, Movement) {
  check(R"(
func.func @f(%x: tensor<3x{N}xf32>, %z: tensor<f32>) -> (tensor<{N}x3xf32>, tensor<3x{N}xf32>, tensor<6x{N}xf32>, tensor<2x3x{N}xf32>, tensor<3x{N}x2xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x{N}xf32>) -> tensor<{N}x3xf32>
  %r = stablehlo.reverse %x, dims = [0, 1] : tensor<3x{N}xf32>
  %p = stablehlo.pad %x, %z, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<3x{N}xf32>, tensor<f32>) -> tensor<6x{N}xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<3x{N}xf32>) -> tensor<2x3x{N}xf32>
  %c = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3x{N}xf32>) -> tensor<3x{N}x2xf32>
  return %t, %r, %p, %b, %c : tensor<{N}x3xf32>, tensor<3x{N}xf32>, tensor<6x{N}xf32>, tensor<2x3x{N}xf32>, tensor<3x{N}x2xf32>
}
)");
}

TEST_P(Sizes, IntegersAndBooleans) {
  check(R"(
func.func @f(%a: tensor<{N}xi32> {test.low = -9 : i64, test.high = 9 : i64}, %b: tensor<{N}xi32> {test.low = 1 : i64, test.high = 7 : i64}, %c: tensor<{N}xi1>, %u: tensor<{N}xui32>)
    -> (tensor<{N}xi32>, tensor<{N}xi1>, tensor<{N}xi64>, tensor<{N}xui32>, tensor<{N}xf32>) {
  %0 = stablehlo.divide %a, %b : tensor<{N}xi32>
  %1 = stablehlo.remainder %a, %b : tensor<{N}xi32>
  %2 = stablehlo.multiply %0, %b : tensor<{N}xi32>
  %3 = stablehlo.add %2, %1 : tensor<{N}xi32>
  %4 = stablehlo.shift_left %3, %b : tensor<{N}xi32>
  %5 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<{N}xi32>, tensor<{N}xi32>) -> tensor<{N}xi1>
  %6 = stablehlo.xor %5, %c : tensor<{N}xi1>
  %7 = stablehlo.not %6 : tensor<{N}xi1>
  %8 = stablehlo.convert %a : (tensor<{N}xi32>) -> tensor<{N}xi64>
  %9 = stablehlo.select %c, %4, %a : tensor<{N}xi1>, tensor<{N}xi32>
  %10 = stablehlo.add %u, %u : tensor<{N}xui32>
  %11 = stablehlo.convert %7 : (tensor<{N}xi1>) -> tensor<{N}xf32>
  return %9, %7, %8, %10, %11 : tensor<{N}xi32>, tensor<{N}xi1>, tensor<{N}xi64>, tensor<{N}xui32>, tensor<{N}xf32>
}
)");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Sizes, ::testing::Values(1, 3, 17, 1000));

TEST(Kernels, LargeSumIsMadeInPieces) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<300x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.5> : tensor<f32>
  %xx = stablehlo.multiply %x, %x : tensor<300x1024xf32>
  %s = stablehlo.reduce(%xx init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<300x1024xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
)");
  ASSERT_EQ(function.getNumKernels(), 2u);
  EXPECT_GT(function.getKernels()[0].extent, 8);
  function.check();
}

TEST(Kernels, IndexedMovement) {
  checkKernels(R"(
func.func @f(%x: tensor<10x4xf32>, %ids: tensor<2x3x1xi32> {test.low = -2 : i64, test.high = 14 : i64}, %i: tensor<i32>, %u: tensor<2x3xf32>)
    -> (tensor<2x3x4xf32>, tensor<3x2xf32>, tensor<10x4xf32>) {
  %rows = "stablehlo.gather"(%x, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  %part = stablehlo.dynamic_slice %x, %i, %i, sizes = [3, 2] : (tensor<10x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
  %updated = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<10x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<10x4xf32>
  return %rows, %part, %updated : tensor<2x3x4xf32>, tensor<3x2xf32>, tensor<10x4xf32>
}
)");
}

TEST(Kernels, ConstantTablesAndIotas) {
  checkKernels(R"(
func.func @f(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<2x3xi1>, tensor<3xf32>) {
  %c = stablehlo.constant dense<[1.0, 2.5, -3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %i = stablehlo.iota dim = 0 : tensor<4x6xf32>
  %j = stablehlo.iota dim = 1 : tensor<4x6xf32>
  %0 = stablehlo.multiply %x, %b : tensor<4x6xf32>
  %1 = stablehlo.add %0, %i : tensor<4x6xf32>
  %2 = stablehlo.subtract %1, %j : tensor<4x6xf32>
  %p = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %k = stablehlo.iota dim = 0 : tensor<3xf32>
  return %2, %p, %k : tensor<4x6xf32>, tensor<2x3xi1>, tensor<3xf32>
}
)");
}

TEST(Kernels, ReshapesStandBetween) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<2x3x32xf32>, %w: tensor<8xf32>) -> tensor<2x3x32xf32> {
  %h = stablehlo.reshape %x : (tensor<2x3x32xf32>) -> tensor<2x3x4x8xf32>
  %y, %rstd = pm.rms_norm %h, %w epsilon 1.0e-5 : tensor<2x3x4x8xf32>, tensor<8xf32> -> tensor<2x3x4xf32>
  %z = stablehlo.reshape %y : (tensor<2x3x4x8xf32>) -> tensor<2x3x32xf32>
  %r = stablehlo.add %z, %x : tensor<2x3x32xf32>
  return %r : tensor<2x3x32xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 1u);
  function.check();
}

TEST(Kernels, EqualBodiesAreOneKernel) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<2x3x32xf32>, %w: tensor<32xf32>, %v: tensor<32xf32>) -> (tensor<2x3x32xf32>, tensor<2x3x32xf32>) {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x3x32xf32>, tensor<32xf32> -> tensor<2x3xf32>
  %z, %rstd2 = pm.rms_norm %x, %v epsilon 1.0e-5 : tensor<2x3x32xf32>, tensor<32xf32> -> tensor<2x3xf32>
  return %y, %z : tensor<2x3x32xf32>, tensor<2x3x32xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 1u);
  EXPECT_EQ(function.getKernels()[0].name, "rms_norm_2x3x32_0");
  function.check();
}

// Outputs of one element a row: the first takes the place of what the second
// reads, so both are computed before one is stored.
TEST(Kernels, OutputsOfRowsAreComputedBeforeOneIsStored) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<1x300xf32>, %n: tensor<i32> {test.low = 3, test.high = 6}, %p: tensor<16x7xf32>) -> (tensor<1x112xf32>, tensor<16x7xf32>, tensor<16x7xf32>) {
  %0 = stablehlo.slice %x [0:1, 9:121] : (tensor<1x300xf32>) -> tensor<1x112xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x112xf32>) -> tensor<16x7xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<16x7xf32>
  %i = stablehlo.iota dim = 1 : tensor<16x7xi32>
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<16x7xi32>
  %c = stablehlo.compare LT, %i, %b, SIGNED : (tensor<16x7xi32>, tensor<16x7xi32>) -> tensor<16x7xi1>
  %z = stablehlo.constant dense<0.0> : tensor<16x7xf32>
  %3 = stablehlo.select %c, %2, %z : tensor<16x7xi1>, tensor<16x7xf32>
  %4 = stablehlo.subtract %p, %1 : tensor<16x7xf32>
  return %0, %3, %4 : tensor<1x112xf32>, tensor<16x7xf32>, tensor<16x7xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 1u);
  function.check();
}

} // namespace
