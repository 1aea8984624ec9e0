// RUN: pmopt %s --pm-differentiate=decay=matrices | FileCheck %s

// What decides is the shape in the file: the bias is a vector there, and does not
// decay although the graph takes it as a matrix.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x2x2xf32> {pm.state = #pm.state<parameter, "w">, pm.stored_shape = array<i64: 3, 4>}
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<2x2xf32> {pm.state = #pm.state<parameter, "b">, pm.stored_shape = array<i64: 4>}
// CHECK: pm.adamw %[[W]], {{.*}} decay {{.*}} : tensor<3x2x2xf32>
// CHECK: pm.adamw %[[B]],
// CHECK-NOT: decay
// CHECK-SAME: tensor<2x2xf32>
func.func @main(%x: tensor<4x3xf32> {pm.input = "x"},
    %w: tensor<3x2x2xf32> {pm.state = #pm.state<parameter, "w">, pm.stored_shape = array<i64: 3, 4>},
    %b: tensor<2x2xf32> {pm.state = #pm.state<parameter, "b">, pm.stored_shape = array<i64: 4>})
    -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x2x2xf32>) -> tensor<4x2x2xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<2x2xf32>) -> tensor<4x2x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x2x2xf32>
  %loss = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x2x2xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
