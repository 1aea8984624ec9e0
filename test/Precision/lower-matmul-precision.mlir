// RUN: pmopt %s --split-input-file --pm-lower-matmul-precision | FileCheck %s
// RUN: not pmopt %s --split-input-file --pm-lower-matmul-precision=type=f16 2>&1 | FileCheck --check-prefix=HALF %s

// HALF: products of 'f16' cannot be had; bf16 can

// A value is rounded once for all products; what is made of it stays f32.
// CHECK-LABEL: func.func @two_products
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>, %[[W:.*]]: tensor<2x3xf32>
// CHECK-DAG: %[[A:.*]] = stablehlo.convert %[[X]] : (tensor<4x3xf32>) -> tensor<4x3xbf16>
// CHECK-DAG: %[[B:.*]] = stablehlo.convert %[[W]] : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK-NOT: convert
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[A]], %[[B]], {{.*}} -> tensor<4x2xf32>
// CHECK: %[[E:.*]] = stablehlo.exponential %[[Y]]
// CHECK: %[[R:.*]] = stablehlo.convert %[[E]]
// CHECK-NOT: convert
// CHECK: stablehlo.dot_general %[[R]], %[[A]], {{.*}} -> tensor<2x3xf32>
func.func @two_products(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %e = stablehlo.exponential %y : tensor<4x2xf32>
  %d = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %d : tensor<2x3xf32>
}

// -----

// What attention gives is rounded already, and its sums are not.
// CHECK-LABEL: func.func @attention
// CHECK: %[[O:.*]], %[[LSE:.*]] = pm.attention %{{.*}} : tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16> -> tensor<1x2x8xf32>
// CHECK: pm.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[LSE]], %{{.*}} scale 5.0{{.*}} causal : tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>
// CHECK-COUNT-3: stablehlo.convert %{{.*}} : (tensor<1x8x2x4xbf16>) -> tensor<1x8x2x4xf32>
func.func @attention(%q: tensor<1x8x2x4xf32>, %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>, %g: tensor<1x8x2x4xf32>)
    -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>) {
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x2x8xf32>
  %dq, %dk, %dv = pm.attention_grad %q, %k, %v, %o, %lse, %g scale 0.5 causal : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>
  return %o, %dq, %dk, %dv : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

// -----

// What only a later layer reads is rounded there: stages are cut by the order of ops.
// CHECK-LABEL: func.func @layers
// CHECK: stablehlo.convert %arg1
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.exponential
// CHECK: stablehlo.convert %arg2
// CHECK: stablehlo.dot_general
func.func @layers(%x: tensor<4x3xf32>, %w: tensor<3x3xf32>, %v: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %e = stablehlo.exponential %y : tensor<4x3xf32>
  %z = stablehlo.dot_general %e, %v, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  return %z : tensor<4x3xf32>
}

// -----

// A convert belongs to the phase of what it rounds; products of other types stay.
// CHECK-LABEL: func.func @phases
// CHECK: stablehlo.convert %arg0 {pm.phase = "forward"}
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
func.func @phases(%x: tensor<4x3xf32>, %i: tensor<3x3xi32>) -> (tensor<4x4xf32>, tensor<3x3xi32>) {
  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] {pm.phase = "forward"} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %j = stablehlo.dot_general %i, %i, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  return %y, %j : tensor<4x4xf32>, tensor<3x3xi32>
}
