// Parameters and moments kept in pieces: annotations of arguments, constraints
// where a parameter is used and behind a gradient, and the exchanges they make.
// RUN: pmopt %s --split-input-file --pm-apply-strategy="strategy=dp=2,zero=1" | FileCheck %s --check-prefix=ONE
// RUN: pmopt %s --split-input-file --pm-apply-strategy="strategy=dp=2,zero=3" | FileCheck %s --check-prefix=THREE
// RUN: pmopt %s --split-input-file --pm-apply-strategy="strategy=dp=1,zero=3" | FileCheck %s --check-prefix=ALONE

// ONE-LABEL: func.func @step
// ONE-SAME: %arg1: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>, pm.state = #pm.state<parameter, "w">}
// ONE-SAME: %arg2: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>, pm.state = #pm.state<moment1, "w">}
// ONE-NOT: pm.constrain
// ONE: stablehlo.dot_general
// ONE: %[[GRAD:.*]] = stablehlo.dot_general
// ONE-NEXT: %[[KEPT:.*]] = pm.constrain %[[GRAD]] to <@mesh, [{"dp"}, {}]> {pm.forward_only, pm.phase = "update"}
// ONE: pm.adamw %arg1, %[[KEPT]], %arg2

// THREE-LABEL: func.func @step
// THREE-SAME: %arg1: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>, pm.state = #pm.state<parameter, "w">}
// THREE-SAME: %arg2: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>, pm.state = #pm.state<moment1, "w">}
// THREE: %[[WHOLE:.*]] = pm.constrain %arg1 to <@mesh, [{}, {}]> {pm.forward_only}
// THREE: stablehlo.dot_general %arg0, %[[WHOLE]]
// THREE: %[[KEPT:.*]] = pm.constrain %{{.*}} to <@mesh, [{"dp"}, {}]> {pm.forward_only, pm.phase = "update"}
// THREE: pm.adamw %arg1, %[[KEPT]], %arg2

// ALONE-LABEL: func.func @step
// ALONE-NOT: pm.constrain
func.func @step(%x: tensor<8x4xf32> {pm.input = "input"},
    %w: tensor<4x6xf32> {pm.state = #pm.state<parameter, "w">},
    %m: tensor<4x6xf32> {pm.state = #pm.state<moment1, "w">},
    %v: tensor<4x6xf32> {pm.state = #pm.state<moment2, "w">},
    %s: tensor<f32>) -> (tensor<4x6xf32> {pm.state = #pm.state<parameter, "w">},
    tensor<4x6xf32> {pm.state = #pm.state<moment1, "w">},
    tensor<4x6xf32> {pm.state = #pm.state<moment2, "w">}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %p, %m1, %m2 = pm.adamw %w, %g, %m, %v scalars %s, %s, %s, %s, %s, %s, %s decay {pm.phase = "update"} : tensor<4x6xf32>, tensor<f32>
  return %p, %m1, %m2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// The first dimension that divides; none does, the longest; too short, none.
// ONE-LABEL: func.func @dimensions
// ONE-SAME: tensor<3x4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"dp"}, {}]>
// ONE-SAME: tensor<3x5x5xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"dp"}, {}]>
// ONE-SAME: tensor<1xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>
// ONE-SAME: tensor<f32> {pm.sharding = #pm.sharding<@mesh, []>
func.func @dimensions(
    %a: tensor<3x4x8xf32> {pm.state = #pm.state<moment1, "a">},
    %b: tensor<3x5x5xf32> {pm.state = #pm.state<moment1, "b">},
    %c: tensor<1xf32> {pm.state = #pm.state<moment1, "c">},
    %d: tensor<f32> {pm.state = #pm.state<moment1, "d">}) {
  return
}
