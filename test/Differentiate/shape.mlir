// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// CHECK-LABEL: func.func @broadcast_sums_what_it_repeats_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<4x5x3xf32>)
// CHECK:         %[[S:.*]] = stablehlo.reduce(%[[DY]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK:         %[[DX:.*]] = stablehlo.reshape %[[S]] : (tensor<3xf32>) -> tensor<1x3xf32>
// CHECK:         return %[[DX]]
func.func @broadcast_sums_what_it_repeats(%x: tensor<1x3xf32>) -> tensor<4x5x3xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x3xf32>) -> tensor<4x5x3xf32>
  return %y : tensor<4x5x3xf32>
}

// CHECK-LABEL: func.func @broadcast_that_permutes_is_transposed_back_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<3x5x2xf32>)
// CHECK:         %[[S:.*]] = stablehlo.reduce(%[[DY]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK:         %[[DX:.*]] = stablehlo.transpose %[[S]], dims = [1, 0]
// CHECK:         return %[[DX]] : tensor<2x3xf32>
func.func @broadcast_that_permutes_is_transposed_back(%x: tensor<2x3xf32>) -> tensor<3x5x2xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x3xf32>) -> tensor<3x5x2xf32>
  return %y : tensor<3x5x2xf32>
}

// The sum of what was just broadcast is a product.
// CHECK-LABEL: func.func @sum_of_a_broadcast_is_a_product_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<f32>)
// CHECK-NOT:     stablehlo.reduce
// CHECK:         %[[N:.*]] = stablehlo.constant dense<6.0
// CHECK:         %[[P:.*]] = stablehlo.multiply %[[DY]], %[[N]] : tensor<f32>
// CHECK:         %[[DX:.*]] = stablehlo.broadcast_in_dim %[[P]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK:         return %[[DX]]
func.func @sum_of_a_broadcast_is_a_product(%x: tensor<3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<6x3xf32>
  %y = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x3xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: func.func @reshape_and_transpose_go_back_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<4x6xf32>)
// CHECK-NEXT:    %[[R:.*]] = stablehlo.reshape %[[DY]] : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    %[[DX:.*]] = stablehlo.transpose %[[R]], dims = [1, 2, 0]
// CHECK-NEXT:    return %[[DX]]
func.func @reshape_and_transpose_go_back(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %t = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %y = stablehlo.reshape %t : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @reverse_again_grad
// CHECK:         stablehlo.reverse %{{.*}}, dims = [1]
func.func @reverse_again(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @concatenate_slices_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<2x6xf32>)
// CHECK-DAG:     %[[A:.*]] = stablehlo.slice %[[DY]] [0:2, 0:3]
// CHECK-DAG:     %[[B:.*]] = stablehlo.slice %[[DY]] [0:2, 3:4]
// CHECK-DAG:     %[[C:.*]] = stablehlo.slice %[[DY]] [0:2, 4:6]
// CHECK:         return %[[A]], %[[B]], %[[C]]
func.func @concatenate_slices(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  %y = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: func.func @slice_pads_with_zeros_grad
// CHECK:         stablehlo.pad %{{.*}}, %{{.*}}, low = [2, 1], high = [3, 1], interior = [0, 2]
func.func @slice_pads_with_zeros(%x: tensor<8x6xf32>) -> tensor<3x2xf32> {
  %y = stablehlo.slice %x [2:5, 1:6:3] : (tensor<8x6xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// Negative padding dropped elements: they get zeros.
// CHECK-LABEL: func.func @pad_takes_its_elements_out_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<9xf32>) -> (tensor<5xf32>, tensor<f32>)
// CHECK:         %[[SPAN:.*]] = stablehlo.pad %[[DY]], %{{.*}}, low = [-2], high = [2], interior = [0]
// CHECK:         %[[DX:.*]] = stablehlo.slice %[[SPAN]] [0:9:2]
// CHECK-DAG:     %[[ALL:.*]] = stablehlo.reduce(%[[DY]]
// CHECK-DAG:     %[[OWN:.*]] = stablehlo.reduce(%[[DX]]
// CHECK:         %[[DV:.*]] = stablehlo.subtract %[[ALL]], %[[OWN]]
// CHECK:         return %[[DX]], %[[DV]]
func.func @pad_takes_its_elements_out(%x: tensor<5xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  %y = stablehlo.pad %x, %v, low = [2], high = [-2], interior = [1] : (tensor<5xf32>, tensor<f32>) -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// CHECK-LABEL: func.func @barrier_lets_cotangents_through_grad
// CHECK-SAME:    %[[D0:[a-z0-9]+]]: tensor<3xf32>, %[[D1:[a-z0-9]+]]: tensor<2xf32>)
// CHECK-NEXT:    return %[[D0]], %[[D1]]
func.func @barrier_lets_cotangents_through(%x: tensor<3xf32>, %y: tensor<2xf32>, %i: tensor<2xi32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %r:3 = stablehlo.optimization_barrier %x, %y, %i : tensor<3xf32>, tensor<2xf32>, tensor<2xi32>
  return %r#0, %r#1 : tensor<3xf32>, tensor<2xf32>
}
