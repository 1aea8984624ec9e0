// What canonicalization folds, and what it leaves alone.
// RUN: pmopt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @nothing_to_do(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
func.func @nothing_to_do(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.convert %0 : tensor<2x3xf32>
  %2 = stablehlo.transpose %1, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.slice %3 [0:2, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.concatenate %4, dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
func.func @reshape_of_reshape(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[Y:.*]] = stablehlo.reshape %[[X]] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = stablehlo.reshape %0 : (tensor<6xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// A square transposed is not the square.
// CHECK-LABEL: func.func @real_transpose(
func.func @real_transpose(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // CHECK: stablehlo.transpose
  // CHECK: stablehlo.broadcast_in_dim
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %1 : tensor<3x3xf32>
}

// Unused ops go, with their regions; a barrier stays.
// CHECK-LABEL: func.func @dead(
func.func @dead(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[B:.*]] = stablehlo.optimization_barrier
  // CHECK-NEXT: return %[[B]]
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.optimization_barrier %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}
