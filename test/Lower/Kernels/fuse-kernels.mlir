// RUN: pmopt %s --pm-fuse-kernels -split-input-file | FileCheck %s

// A residual, the norm behind it and both of their results are one kernel.
// CHECK-LABEL: func.func @residual_and_norm
// CHECK-SAME: (%[[A:.*]]: tensor<8x20x32xf32>, %[[B:.*]]: tensor<8x20x32xf32>, %[[W:.*]]: tensor<32xf32>)
func.func @residual_and_norm(%a: tensor<8x20x32xf32>, %b: tensor<8x20x32xf32>, %w: tensor<32xf32>) -> (tensor<8x20x32xf32>, tensor<8x20x32xf32>) {
  // CHECK-NEXT: %[[R:.*]]:2 = pmrt.fused(%[[A]], %[[B]], %[[W]]) in_place [0, 1] {name = "add_rms_norm"}
  // CHECK: stablehlo.add
  // CHECK: stablehlo.reduce
  // CHECK: stablehlo.rsqrt
  // CHECK-NOT: pmrt.fused
  // CHECK: return %[[R]]#0, %[[R]]#1
  %x = stablehlo.add %a, %b : tensor<8x20x32xf32>
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x20x32xf32>, tensor<32xf32> -> tensor<8x20xf32>
  return %x, %y : tensor<8x20x32xf32>, tensor<8x20x32xf32>
}

// -----

// Products stay, what is between them is one kernel, and the reshape to heads
// is a view.
// CHECK-LABEL: func.func @gated_unit
func.func @gated_unit(%x: tensor<4x8xf32>, %g: tensor<16x8xf32>, %u: tensor<16x8xf32>, %d: tensor<8x16xf32>) -> tensor<4x2x4xf32> {
  // CHECK-NEXT: stablehlo.dot_general
  // CHECK-NEXT: stablehlo.dot_general
  // CHECK-NEXT: %[[F:.*]] = pmrt.fused{{.*}} in_place [0] {name = "logistic_multiply"}
  // CHECK: pmrt.yield
  // CHECK: %[[Y:.*]] = stablehlo.dot_general %[[F]]
  // CHECK-NEXT: %[[Z:.*]] = stablehlo.reshape %[[Y]]
  // CHECK-NEXT: return %[[Z]]
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = stablehlo.logistic %0 : tensor<4x16xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x16xf32>
  %3 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<4x16xf32>
  %5 = stablehlo.dot_general %4, %d, contracting_dims = [1] x [1] : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.reshape %5 : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  return %6 : tensor<4x2x4xf32>
}

// -----

// The sum over rows takes its own copy of the product that it reads, so that
// the product is never written.
// CHECK-LABEL: func.func @norm_gradients
func.func @norm_gradients(%x: tensor<8x20x32xf32>, %w: tensor<32xf32>, %rstd: tensor<8x20xf32>, %dy: tensor<8x20x32xf32>) -> (tensor<8x20x32xf32>, tensor<32xf32>) {
  // CHECK: pmrt.fused{{.*}} -> tensor<8x20x32xf32>
  // CHECK: pmrt.fused{{.*}} -> tensor<32xf32>
  // CHECK-NOT: pmrt.fused
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<8x20x32xf32>, tensor<32xf32>, tensor<8x20xf32>
  %dw = pm.rms_norm_weight_grad %x, %rstd, %dy : tensor<8x20x32xf32>, tensor<8x20xf32> -> tensor<32xf32>
  return %dx, %dw : tensor<8x20x32xf32>, tensor<32xf32>
}

// -----

// The loss is one pass over the logits; the mean's scalars are a second kernel.
// CHECK-LABEL: func.func @loss
func.func @loss(%x: tensor<2x5x131xf32>, %t: tensor<2x5xi32>, %n: tensor<f32>) -> (tensor<f32>, tensor<2x5xf32>) {
  // CHECK-COUNT-2: pmrt.fused
  // CHECK-NOT: pmrt.fused
  // CHECK: return
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %nll, %lse = pm.cross_entropy %x, %t : tensor<2x5x131xf32>, tensor<2x5xi32> -> tensor<2x5xf32>
  %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x5xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %n : tensor<f32>
  return %mean, %lse : tensor<f32>, tensor<2x5xf32>
}

// -----

// An update is one pass over the parameter and its moments, each in place.
// CHECK-LABEL: func.func @update
func.func @update(%p: tensor<7x33xf32> {pm.buffer = @p}, %g: tensor<7x33xf32>, %m: tensor<7x33xf32> {pm.buffer = @m}, %v: tensor<7x33xf32> {pm.buffer = @v},
    %t: tensor<f32>, %lr: tensor<f32>, %b1: tensor<f32>, %b2: tensor<f32>, %eps: tensor<f32>, %wd: tensor<f32>, %scale: tensor<f32>)
    -> (tensor<7x33xf32> {pm.buffer = @p}, tensor<7x33xf32> {pm.buffer = @m}, tensor<7x33xf32> {pm.buffer = @v}) {
  // CHECK-NEXT: pmrt.fused(%[[G:.*]], %{{.*}}, %[[M:.*]], %{{.*}}, %[[V:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[P:.*]]) in_place [2, 4, 10] {name = "adamw"}
  // CHECK-NOT: pmrt.fused
  // CHECK: return
  %p2, %m2, %v2 = pm.adamw %p, %g, %m, %v scalars %t, %lr, %b1, %b2, %eps, %wd, %scale decay : tensor<7x33xf32>, tensor<f32>
  return %p2, %m2, %v2 : tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>
}

// -----

// Attention keeps its kernel; what a product reads is written by a kernel.
// CHECK-LABEL: func.func @whole_kernels
func.func @whole_kernels(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x1x8xf32>, %s: tensor<f32>) -> (tensor<1x4x2x8xf32>, tensor<3x3xf32>) {
  // CHECK: pmrt.fused
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: pm.attention
  // CHECK-NEXT: pmrt.yield
  // CHECK: %[[B:.*]] = pmrt.fused(%{{.*}}) {{.*}}tensor<3x2xf32>
  // CHECK: stablehlo.broadcast_in_dim
  // CHECK: stablehlo.dot_general %[[B]], %[[B]]
  %o, %lse = pm.attention %q, %k, %k scale 0.35355339 causal : tensor<1x4x2x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x2x4xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
  %d = stablehlo.dot_general %b, %b, contracting_dims = [1] x [1] : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
  return %o, %d : tensor<1x4x2x8xf32>, tensor<3x3xf32>
}

// -----

// Two kernels that read one large tensor become one.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%x: tensor<64x128xf32>, %a: tensor<64x128xf32>, %b: tensor<64x128xf32>, %w: tensor<8x128xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  // CHECK-NEXT: %[[F:.*]]:2 = pmrt.fused
  // CHECK-NOT: pmrt.fused
  // CHECK: stablehlo.dot_general %[[F]]#0
  // CHECK: stablehlo.dot_general %[[F]]#1
  %0 = stablehlo.multiply %x, %a : tensor<64x128xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<8x128xf32>) -> tensor<64x8xf32>
  %2 = stablehlo.subtract %x, %b : tensor<64x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<8x128xf32>) -> tensor<64x8xf32>
  return %1, %3 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// What a product reads is written anyway: the sum over rows reads it too.
// CHECK-LABEL: func.func @bias_gradient
func.func @bias_gradient(%x: tensor<64x128xf32>, %a: tensor<64x128xf32>, %w: tensor<8x128xf32>) -> (tensor<64x8xf32>, tensor<128xf32>) {
  // CHECK-NEXT: %[[F:.*]] = pmrt.fused
  // CHECK: pmrt.fused(%[[F]]){{.*}} -> tensor<128xf32>
  // CHECK: stablehlo.dot_general %[[F]]
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.add %x, %a : tensor<64x128xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>
  %2 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<8x128xf32>) -> tensor<64x8xf32>
  return %2, %1 : tensor<64x8xf32>, tensor<128xf32>
}

// A sort stands alone; the constant around its comparator goes inside.
// CHECK-LABEL: func.func @sort_by_region
// CHECK: pmrt.fused
// CHECK: "stablehlo.sort"
// CHECK: stablehlo.constant
// CHECK: stablehlo.compare LT
// CHECK: pmrt.yield
func.func @sort_by_region(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.multiply %a, %c : tensor<f32>
    %before = stablehlo.compare LT, %0, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// Two outputs of different widths: the second reads the operands after the first is
// stored, so that none takes an operand's place.
// CHECK-LABEL: func.func @widths
func.func @widths(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %x = stablehlo.negate %a : tensor<3xf32>
  // CHECK: pmrt.fused({{.*}}) in_place [-1, -1]
  %0 = stablehlo.add %x, %b : tensor<3xf32>
  %1 = stablehlo.slice %0 [0:2] : (tensor<3xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<3xf32>, tensor<2xf32>
}
