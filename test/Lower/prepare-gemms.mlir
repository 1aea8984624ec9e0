// RUN: pmopt %s --pass-pipeline='builtin.module(func.func(pm-prepare-gemms))' | FileCheck %s
// RUN: pmopt %s --pass-pipeline='builtin.module(func.func(pm-prepare-gemms{half-precision=true}))' | FileCheck --check-prefix=HALF %s

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

// The host multiplies half precision in float32, and rounds once; GPUs as it is, and
// what is transposed for them keeps its type.
// CHECK-LABEL: func.func @half_precision
// CHECK: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4x3xbf16>) -> tensor<4x3xf32>
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[A]], %{{.*}} -> tensor<4x5xf32>
// CHECK: stablehlo.convert %[[Y]] : (tensor<4x5xf32>) -> tensor<4x5xbf16>
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
// HALF-LABEL: func.func @half_precision
// HALF-NOT: convert
// HALF: stablehlo.dot_general %arg0, %arg1, {{.*}} : (tensor<4x3xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
// HALF: stablehlo.dot_general %arg0, %arg1, {{.*}} : (tensor<4x3xbf16>, tensor<3x5xbf16>) -> tensor<4x5xf32>
// HALF: stablehlo.transpose %arg2, dims = [1, 0, 2] : (tensor<4x5x6xbf16>) -> tensor<5x4x6xbf16>
// HALF: stablehlo.dot_general %{{.*}} -> tensor<5x7xf32>
func.func @half_precision(%a: tensor<4x3xbf16>, %b: tensor<3x5xbf16>, %c: tensor<4x5x6xbf16>, %d: tensor<4x6x7xbf16>)
    -> (tensor<4x5xbf16>, tensor<4x5xf32>, tensor<5x7xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x3xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x3xbf16>, tensor<3x5xbf16>) -> tensor<4x5xf32>
  %2 = stablehlo.dot_general %c, %d, contracting_dims = [0, 2] x [0, 1] : (tensor<4x5x6xbf16>, tensor<4x6x7xbf16>) -> tensor<5x7xf32>
  return %0, %1, %2 : tensor<4x5xbf16>, tensor<4x5xf32>, tensor<5x7xf32>
}
