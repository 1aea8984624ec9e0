//===- ModelKernelTest.cpp - kernels of model ops -------------------------===//

#include "CompiledFunction.h"
#include <gtest/gtest.h>

using namespace pipemesh::test;

namespace {

TEST(Kernels, ResidualAndNorm) {
  CompiledFunction function(R"(
func.func @f(%a: tensor<2x5x33xf32>, %b: tensor<2x5x33xf32>, %w: tensor<33xf32>) -> (tensor<2x5x33xf32>, tensor<2x5x33xf32>, tensor<2x5xf32>) {
  %x = stablehlo.add %a, %b : tensor<2x5x33xf32>
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x5x33xf32>, tensor<33xf32> -> tensor<2x5xf32>
  return %x, %y, %rstd : tensor<2x5x33xf32>, tensor<2x5x33xf32>, tensor<2x5xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 1u);
  function.check();
}

TEST(Kernels, NormGradients) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<2x5x33xf32>, %w: tensor<33xf32>, %rstd: tensor<2x5xf32>, %p: tensor<2x5x33xf32>, %q: tensor<2x5x33xf32>, %r: tensor<2x5x33xf32>) -> (tensor<2x5x33xf32>, tensor<33xf32>) {
  %dy = stablehlo.add %p, %q : tensor<2x5x33xf32>
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<2x5x33xf32>, tensor<33xf32>, tensor<2x5xf32>
  %dw = pm.rms_norm_weight_grad %x, %rstd, %dy : tensor<2x5x33xf32>, tensor<2x5xf32> -> tensor<33xf32>
  %sum = stablehlo.add %dx, %r : tensor<2x5x33xf32>
  return %sum, %dw : tensor<2x5x33xf32>, tensor<33xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 2u);
  function.check(4e-6);
}

TEST(Kernels, LayerNormAndGradients) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<2x5x33xf32>, %w: tensor<33xf32>, %b: tensor<33xf32>, %dy: tensor<2x5x33xf32>) -> (tensor<2x5x33xf32>, tensor<2x5x33xf32>, tensor<33xf32>, tensor<33xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y, %mean, %rstd = pm.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<2x5x33xf32>, tensor<33xf32> -> tensor<2x5xf32>
  %dx = pm.layer_norm_input_grad %x, %w, %mean, %rstd, %dy : tensor<2x5x33xf32>, tensor<33xf32>, tensor<2x5xf32>
  %dw = pm.layer_norm_weight_grad %x, %mean, %rstd, %dy : tensor<2x5x33xf32>, tensor<2x5xf32> -> tensor<33xf32>
  %db = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x5x33xf32>, tensor<f32>) -> tensor<33xf32>
  return %y, %dx, %dw, %db : tensor<2x5x33xf32>, tensor<2x5x33xf32>, tensor<33xf32>, tensor<33xf32>
}
)");
  function.check(4e-6);
}

TEST(Kernels, CrossEntropyAndGradient) {
  CompiledFunction function(R"(
func.func @f(%x: tensor<2x5x131xf32>, %t: tensor<2x5xi32> {test.high = 131 : i64}, %d: tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5x131xf32>) {
  %nll, %lse = pm.cross_entropy %x, %t : tensor<2x5x131xf32>, tensor<2x5xi32> -> tensor<2x5xf32>
  %dx = pm.cross_entropy_grad %x, %t, %lse, %d : tensor<2x5x131xf32>, tensor<2x5xi32>, tensor<2x5xf32>
  return %nll, %lse, %dx : tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5x131xf32>
}
)");
  function.check();
}

TEST(Kernels, CrossEntropyWithoutCountedTargets) {
  checkKernels(R"(
func.func @f(%x: tensor<2x3x16xf32>, %t: tensor<2x3xi32> {test.low = -100 : i64, test.high = -99 : i64}) -> tensor<2x3xf32> {
  %nll, %lse = pm.cross_entropy %x, %t : tensor<2x3x16xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
  return %nll : tensor<2x3xf32>
}
)");
}

TEST(Kernels, RotationOfHeads) {
  for (const char *inverse : {"", "inverse"})
    for (const char *size : {"2", "6", "8", "64"}) {
      std::string half = std::to_string(atoi(size) / 2);
      std::string type = std::string("tensor<2x5x3x") + size + "xf32>";
      std::string table = "tensor<5x" + half + "xf32>";
      checkKernels("func.func @f(%x: " + type + ", %c: " + table +
                   ", %s: " + table + ") -> " + type +
                   " {\n  %y = pm.rope %x, %c, %s " + inverse + " : " + type +
                   ", " + table + "\n  return %y : " + type + "\n}\n");
    }
}

TEST(Kernels, GatedUnit) {
  CompiledFunction function(R"(
func.func @f(%g: tensor<2x5x45xf32>, %u: tensor<2x5x45xf32>) -> tensor<2x5x45xf32> {
  %s = stablehlo.logistic %g : tensor<2x5x45xf32>
  %a = stablehlo.multiply %g, %s : tensor<2x5x45xf32>
  %y = stablehlo.multiply %a, %u : tensor<2x5x45xf32>
  return %y : tensor<2x5x45xf32>
}
)");
  EXPECT_EQ(function.getNumKernels(), 1u);
  function.check();
}

TEST(Kernels, AdamW) {
  CompiledFunction function(R"(
func.func @f(%p: tensor<7x33xf32>, %g: tensor<7x33xf32>, %m: tensor<7x33xf32>, %v: tensor<7x33xf32> {test.positive},
    %t: tensor<f32> {test.value = 3.0 : f32}, %lr: tensor<f32> {test.value = 0.01 : f32}, %b1: tensor<f32> {test.value = 0.9 : f32}, %b2: tensor<f32> {test.value = 0.95 : f32},
    %eps: tensor<f32> {test.value = 1.0e-8 : f32}, %wd: tensor<f32> {test.value = 0.1 : f32}, %scale: tensor<f32> {test.value = 0.5 : f32})
    -> (tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>) {
  %p2, %m2, %v2 = pm.adamw %p, %g, %m, %v scalars %t, %lr, %b1, %b2, %eps, %wd, %scale decay : tensor<7x33xf32>, tensor<f32>
  return %p2, %m2, %v2 : tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>
}
)");
  function.check();
}

} // namespace
