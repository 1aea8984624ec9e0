// RUN: pmopt %s --pm-differentiate="trainable=layers.*.b,head" --pm-verify-differentiated | FileCheck %s

// What no pattern names has no moments, no gradient and no update, and the
// sweep ends where only frozen parameters lie behind.

// CHECK:       pm.recipe = {clips = false, decay = "all", optimizer = "adamw", trainable = ["layers.*.b", "head"]}
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    #pm.state<parameter, "embed">
// CHECK-NOT:     #pm.state<moment1, "embed">
// CHECK-NOT:     #pm.state<moment1, "layers.0.a">
// CHECK-SAME:    #pm.state<moment1, "layers.0.b">
// CHECK-SAME:    #pm.state<moment1, "head">
// CHECK-NOT:     clip_norm
// CHECK:         stablehlo.tanh %{{.*}} {pm.phase = "forward"}
// CHECK-NOT:     stablehlo.tanh
// CHECK-COUNT-3: stablehlo.dot_general {{.*}}pm.phase = "backward"
// CHECK-NOT:     pm.phase = "backward"
// CHECK:         %[[ONE:.*]] = stablehlo.constant {pm.phase = "update"} dense<1.0{{.*}}> : tensor<f32>
// CHECK:         pm.adamw {{.*}}, %[[ONE]] decay
// CHECK:         pm.adamw {{.*}}, %[[ONE]] decay
// CHECK-NOT:     pm.adamw
func.func @main(
    %x: tensor<3x4xf32> {pm.input = "x"},
    %embed: tensor<4x4xf32> {pm.state = #pm.state<parameter, "embed">},
    %a: tensor<4x4xf32> {pm.state = #pm.state<parameter, "layers.0.a">},
    %b: tensor<4x4xf32> {pm.state = #pm.state<parameter, "layers.0.b">},
    %head: tensor<4x4xf32> {pm.state = #pm.state<parameter, "head">}) -> (tensor<f32> {pm.output = "loss"}) {
  %0 = stablehlo.dot_general %x, %embed, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.tanh %0 : tensor<3x4xf32>
  %2 = stablehlo.dot_general %1, %a, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %3 = stablehlo.dot_general %2, %b, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %4 = stablehlo.dot_general %3, %head, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %weights = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<3x4xf32>
  %5 = stablehlo.multiply %4, %weights : tensor<3x4xf32>
  %loss = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
