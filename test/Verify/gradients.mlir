// The gradient of every differentiable op against central differences, on odd
// shapes.
// RUN: split-file %s %t
// RUN: pmcheck gradients %t/elementwise.mlir
// RUN: pmcheck gradients %t/positive.mlir --positive
// RUN: pmcheck gradients %t/shape.mlir
// RUN: pmcheck gradients %t/contraction.mlir
// RUN: pmcheck gradients %t/model.mlir
// RUN: pmcheck gradients %t/model.mlir --seed=1 --function=attention_grouped | FileCheck %s --check-prefix=ONE
// RUN: not pmcheck gradients %t/wrong.mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not pmcheck gradients %t/wrong.mlir --function=none 2>&1 | FileCheck %s --check-prefix=NONE

// ONE: @attention_grouped: {{[0-9]+}} derivatives, largest error
// ONE-NOT: @
// Many small steps make a ramp; the gradient of a step is zero.
// WRONG: pmcheck: error: @steps_are_not_seen: argument 0, {{.*}}: the gradient gives
// NONE: there is no function to differentiate

//--- elementwise.mlir
func.func @abs(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.abs %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @cosine(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.cosine %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @exponential(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.exponential %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @exponential_minus_one(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.exponential_minus_one %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @logistic(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.logistic %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @negate(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.negate %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @sine(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.sine %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @tanh(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.tanh %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @erf(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = chlo.erf %x : tensor<3x5xf32> -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @add(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.add %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @subtract(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.subtract %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @multiply(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.multiply %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @maximum(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.maximum %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @minimum(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.minimum %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @convert(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.convert %x : (tensor<3x5xf32>) -> tensor<3x5xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<3x5xf64>
  %y = stablehlo.convert %1 : (tensor<3x5xf64>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @select(%p: tensor<3x5xi1>, %a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.select %p, %a, %b : tensor<3x5xi1>, tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @clamp(%low: tensor<3x5xf32>, %x: tensor<3x5xf32>, %high: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %top = stablehlo.add %high, %high : tensor<3x5xf32>
  %y = stablehlo.clamp %low, %x, %top : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @step_functions(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.sign %x : tensor<3x5xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}
func.func @used_twice(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = stablehlo.sine %x : tensor<3x5xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<3x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<3x5xf32>
  return %2, %0 : tensor<3x5xf32>, tensor<3x5xf32>
}
//--- positive.mlir
func.func @divide(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.divide %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @cbrt(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.cbrt %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @log(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.log %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @log_plus_one(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.log_plus_one %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @rsqrt(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.rsqrt %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @sqrt(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.sqrt %x : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @power(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.power %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @remainder(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.remainder %a, %b : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
//--- shape.mlir
func.func @broadcast_in_dim(%x: tensor<3x1x5xf32>) -> tensor<2x3x4x5xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [1, 2, 3] : (tensor<3x1x5xf32>) -> tensor<2x3x4x5xf32>
  return %y : tensor<2x3x4x5xf32>
}
func.func @reshape(%x: tensor<3x4x5xf32>) -> tensor<5x12xf32> {
  %y = stablehlo.reshape %x : (tensor<3x4x5xf32>) -> tensor<5x12xf32>
  return %y : tensor<5x12xf32>
}
func.func @transpose(%x: tensor<3x4x5xf32>) -> tensor<5x3x4xf32> {
  %y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>
  return %y : tensor<5x3x4xf32>
}
func.func @reverse(%x: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %y = stablehlo.reverse %x, dims = [0, 2] : tensor<3x4x5xf32>
  return %y : tensor<3x4x5xf32>
}
func.func @concatenate(%a: tensor<3x4x5xf32>, %b: tensor<3x1x5xf32>) -> tensor<3x5x5xf32> {
  %y = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x4x5xf32>, tensor<3x1x5xf32>) -> tensor<3x5x5xf32>
  return %y : tensor<3x5x5xf32>
}
func.func @pad(%x: tensor<3x5xf32>, %v: tensor<f32>) -> tensor<8x10xf32> {
  %y = stablehlo.pad %x, %v, low = [1, -1], high = [0, 2], interior = [2, 1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<8x10xf32>
  return %y : tensor<8x10xf32>
}
func.func @slice(%x: tensor<7x5xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.slice %x [1:7:3, 2:5] : (tensor<7x5xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
func.func @dynamic_slice(%x: tensor<7x5xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<3x4xf32> {
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [3, 4] : (tensor<7x5xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
func.func @dynamic_update_slice(%x: tensor<7x5xf32>, %u: tensor<3x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<7x5xf32> {
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<7x5xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<7x5xf32>
  return %y : tensor<7x5xf32>
}
func.func @optimization_barrier(%a: tensor<3xf32>, %b: tensor<5xf32>) -> (tensor<3xf32>, tensor<5xf32>) {
  %r:2 = stablehlo.optimization_barrier %a, %b : tensor<3xf32>, tensor<5xf32>
  return %r#0, %r#1 : tensor<3xf32>, tensor<5xf32>
}
func.func @gather_rows(%x: tensor<5x3xf32>, %i: tensor<2x4x1xi32>) -> tensor<2x4x3xf32> {
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<2x4x1xi32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}
//--- contraction.mlir
func.func @linear(%x: tensor<2x5x3xf32>, %w: tensor<7x3xf32>) -> tensor<2x5x7xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1] : (tensor<2x5x3xf32>, tensor<7x3xf32>) -> tensor<2x5x7xf32>
  return %y : tensor<2x5x7xf32>
}
func.func @batched(%a: tensor<2x5x3x4xf32>, %b: tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32> {
  %y = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32>
  return %y : tensor<2x3x5x7xf32>
}
func.func @crossed(%a: tensor<2x3x4xf32>, %b: tensor<4x5x2xf32>) -> tensor<3x5xf32> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [2, 0] : (tensor<2x3x4xf32>, tensor<4x5x2xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
func.func @reduce_add(%x: tensor<3x4x5xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %y = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @reduce_maximum(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @reduce_minimum(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %y = stablehlo.reduce(%x init: %i) applies stablehlo.minimum across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @softmax(%x: tensor<3x7xf32>) -> tensor<3x7xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
  %m = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
  %d = stablehlo.subtract %x, %m : tensor<3x7xf32>
  %e = stablehlo.exponential %d : tensor<3x7xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
  %s = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
  %y = stablehlo.divide %e, %s : tensor<3x7xf32>
  return %y : tensor<3x7xf32>
}
//--- model.mlir
func.func @embedding(%t: tensor<5x3xf32>, %i: tensor<2x7xi32>) -> tensor<2x7x3xf32> {
  %y = pm.embedding %t, %i : (tensor<5x3xf32>, tensor<2x7xi32>) -> tensor<2x7x3xf32>
  return %y : tensor<2x7x3xf32>
}
func.func @rms_norm(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %y, %r = pm.rms_norm %x, %w epsilon 1.0e-2 : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3x5xf32>
}
func.func @rms_norm_with_rstd(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3xf32>) {
  %y, %r = pm.rms_norm %x, %w epsilon 1.0e-2 : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3xf32>
  return %y, %r : tensor<2x3x5xf32>, tensor<2x3xf32>
}
func.func @layer_norm(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %y, %m, %r = pm.layer_norm %x, %w, %b epsilon 1.0e-2 : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3x5xf32>
}
func.func @rope(%x: tensor<2x3x5x6xf32>) -> (tensor<2x3x5x6xf32>, tensor<2x3x5x6xf32>) {
  %c = stablehlo.constant dense<[[1.0, 0.5, 0.25], [0.75, -0.5, 0.125], [-1.0, 0.0, 0.5]]> : tensor<3x3xf32>
  %s = stablehlo.constant dense<[[0.5, 1.0, -0.25], [0.25, 0.5, 0.75], [0.0, 1.0, -0.5]]> : tensor<3x3xf32>
  %y = pm.rope %x, %c, %s : tensor<2x3x5x6xf32>, tensor<3x3xf32>
  %z = pm.rope %x, %c, %s inverse : tensor<2x3x5x6xf32>, tensor<3x3xf32>
  return %y, %z : tensor<2x3x5x6xf32>, tensor<2x3x5x6xf32>
}
func.func @attention(%q: tensor<2x5x3x4xf32>, %k: tensor<2x5x3x4xf32>, %v: tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32> {
  %y, %l = pm.attention %q, %k, %v scale 5.0e-1 causal : tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32> -> tensor<2x3x5xf32>
  return %y : tensor<2x5x3x4xf32>
}
func.func @attention_grouped(%q: tensor<2x5x6x4xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x2x4xf32>) -> tensor<2x5x6x4xf32> {
  %y, %l = pm.attention %q, %k, %v scale 5.0e-1 causal : tensor<2x5x6x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x6x5xf32>
  return %y : tensor<2x5x6x4xf32>
}
func.func @attention_window(%q: tensor<2x5x4x4xf32>, %k: tensor<2x5x1x4xf32>, %v: tensor<2x5x1x4xf32>) -> tensor<2x5x4x4xf32> {
  %y, %l = pm.attention %q, %k, %v scale 5.0e-1 causal window 3 : tensor<2x5x4x4xf32>, tensor<2x5x1x4xf32> -> tensor<2x4x5xf32>
  return %y : tensor<2x5x4x4xf32>
}
func.func @cross_entropy(%l: tensor<3x7xf32>) -> tensor<3xf32> {
  %t = stablehlo.constant dense<[2, -100, 6]> : tensor<3xi32>
  %n, %e = pm.cross_entropy %l, %t : tensor<3x7xf32>, tensor<3xi32> -> tensor<3xf32>
  return %n : tensor<3xf32>
}
//--- wrong.mlir
func.func @steps_are_not_seen(%x: tensor<5xf32>) -> tensor<5xf32> {
  %big = stablehlo.constant dense<1.0e9> : tensor<5xf32>
  %0 = stablehlo.multiply %x, %big : tensor<5xf32>
  %1 = stablehlo.floor %0 : tensor<5xf32>
  %2 = stablehlo.divide %1, %big : tensor<5xf32>
  return %2 : tensor<5xf32>
}
