// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// CHECK-LABEL: func.func @sum_is_broadcast_back_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<2x4xf32>)
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.broadcast_in_dim %[[DY]], dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT:    return %[[DX]]
func.func @sum_is_broadcast_back(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @the_initial_value_gets_the_sum_grad
// CHECK-SAME:    -> (tensor<2x3xf32>, tensor<f32>)
// CHECK:         stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
func.func @the_initial_value_gets_the_sum(%x: tensor<2x3xf32>, %init: tensor<f32>) -> tensor<2xf32> {
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @maximum_is_shared_between_ties_grad
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3xf32>, %[[DY:[a-z0-9]+]]: tensor<2xf32>)
// CHECK:         %[[M:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.maximum
// CHECK:         %[[B:.*]] = stablehlo.broadcast_in_dim %[[M]], dims = [0]
// CHECK:         %[[EQ:.*]] = stablehlo.compare EQ, %[[X]], %[[B]]
// CHECK:         %[[ONE:.*]] = stablehlo.convert %[[EQ]]
// CHECK:         %[[COUNT:.*]] = stablehlo.reduce(%[[ONE]] init: %{{.*}}) applies stablehlo.add
// CHECK:         %[[AT_LEAST_ONE:.*]] = stablehlo.maximum %[[COUNT]]
// CHECK:         %[[PART:.*]] = stablehlo.divide %[[DY]], %[[AT_LEAST_ONE]]
// CHECK:         %[[PARTS:.*]] = stablehlo.broadcast_in_dim %[[PART]], dims = [0]
// CHECK:         stablehlo.multiply %[[PARTS]], %[[ONE]]
func.func @maximum_is_shared_between_ties(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
