// Spellings that parse, beside those that are printed.
// RUN: pmopt -allow-unregistered-dialect %s | FileCheck %s

// CHECK-LABEL: func.func @accepted(
func.func @accepted(%x: tensor<4x6xf32>, %p: tensor<4x6xi1>) -> tensor<4x6xf32> {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4x6xf32>
  %0 = stablehlo.add %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: stablehlo.tanh %{{.*}} : tensor<4x6xf32>
  %1 = stablehlo.tanh %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: stablehlo.compare LT, %{{.*}}, %{{.*}}, FLOAT : (
  %2 = stablehlo.compare  LT, %1, %x,  FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x6xi1>, tensor<4x6xf32>
  %3 = stablehlo.select %2, %0, %1 : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: stablehlo.convert %{{.*}} : tensor<4x6xf32>
  %4 = stablehlo.convert %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 0:6] : (
  %5 = stablehlo.slice %4 [0:4:1, 0:6:1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] :
  %6 = stablehlo.dot_general %5, %x, batching_dims = [] x [], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
  // CHECK: #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
  %7 = "test.use"(%6) {dims = #stablehlo.dot<rhs_contracting_dimensions = [0], lhs_batching_dimensions = [], lhs_contracting_dimensions = [1]>, precision = #stablehlo<precision HIGH>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x6xf32>
}
