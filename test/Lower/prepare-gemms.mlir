// RUN: pmopt %s --pass-pipeline='builtin.module(func.func(pm-prepare-gemms))' | FileCheck %s

// The GEMM reads all of these through strides.
// CHECK-LABEL: func.func @strides_suffice
// CHECK-NOT: transpose
func.func @strides_suffice(%x: tensor<2x5x8xf32>, %w: tensor<3x8xf32>, %v: tensor<8x3xf32>, %dy: tensor<2x5x3xf32>)
    -> (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x8xf32>, tensor<2x5x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1] : (tensor<2x5x8xf32>, tensor<3x8xf32>) -> tensor<2x5x3xf32>
  %1 = stablehlo.dot_general %x, %v, contracting_dims = [2] x [0] : (tensor<2x5x8xf32>, tensor<8x3xf32>) -> tensor<2x5x3xf32>
  %2 = stablehlo.dot_general %dy, %x, contracting_dims = [0, 1] x [0, 1] : (tensor<2x5x3xf32>, tensor<2x5x8xf32>) -> tensor<3x8xf32>
  %3 = stablehlo.dot_general %dy, %w, contracting_dims = [2] x [0] : (tensor<2x5x3xf32>, tensor<3x8xf32>) -> tensor<2x5x8xf32>
  return %0, %1, %2, %3 : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x8xf32>, tensor<2x5x8xf32>
}

// Heads of [B, S, H, d] are batch dimensions with strides.
// CHECK-LABEL: func.func @heads
// CHECK-NOT: transpose
func.func @heads(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  return %0 : tensor<2x4x5x5xf32>
}

// Contracted dimensions that do not lie beside each other.
// CHECK-LABEL: func.func @scattered_contraction
// CHECK: %[[T:.*]] = stablehlo.transpose %arg0, dims = [1, 0, 2]
// CHECK: stablehlo.dot_general %[[T]], %{{.*}}, contracting_dims = [1, 2] x [1, 2]
func.func @scattered_contraction(%a: tensor<4x5x6xf32>, %b: tensor<4x6x7xf32>) -> tensor<5x7xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [0, 1] : (tensor<4x5x6xf32>, tensor<4x6x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
