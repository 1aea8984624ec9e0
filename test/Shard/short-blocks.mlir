// What lies behind the end of short blocks does not count.
// RUN: pmopt %s --pm-partition --split-input-file | FileCheck %s

pm.mesh @mesh = [<"x", spatial = 3>]

// CHECK-LABEL: func.func @sums_are_masked
// CHECK-SAME: tensor<3xf32> {pm.global_type = tensor<7xf32>
func.func @sums_are_masked(%a: tensor<7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<f32> {pm.sharding = #pm.sharding<@mesh, []>}) {
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK: %[[X:.*]] = pm.axis_index "x" on @mesh
  // CHECK: %[[SIZE:.*]] = stablehlo.constant dense<7> : tensor<i32>
  // CHECK: %[[OFFSET:.*]] = stablehlo.multiply %[[X]]
  // CHECK: %[[LIMIT:.*]] = stablehlo.subtract %[[SIZE]], %[[OFFSET]]
  // CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<3xi32>
  // CHECK: %[[L:.*]] = stablehlo.broadcast_in_dim %[[LIMIT]]
  // CHECK: %[[E:.*]] = stablehlo.compare LT, %[[I]], %[[L]]
  // CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<3xf32>
  // CHECK: %[[M:.*]] = stablehlo.select %[[E]], %arg0, %[[Z]]
  // CHECK: stablehlo.reduce(%[[M]]
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] {pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"x"}>]} : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
  %1 = pm.reshard %0 from <@mesh, [], partial = sum{"x"}> to <@mesh, []> {pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  return %1 : tensor<f32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>]

// CHECK-LABEL: func.func @neutral_element_of_a_maximum
func.func @neutral_element_of_a_maximum(%a: tensor<7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<f32> {pm.sharding = #pm.sharding<@mesh, [], partial = max{"x"}>}) {
  %low = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0xFF800000> : tensor<f32>
  // CHECK: %[[Z:.*]] = stablehlo.constant dense<0xFF800000> : tensor<3xf32>
  // CHECK: stablehlo.select %{{.*}}, %arg0, %[[Z]]
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0] {pm.shardings = [#pm.sharding<@mesh, [], partial = max{"x"}>]} : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>]

// A parameter is zero there; the other side is masked, since zero times anything
// that is not finite is not zero.
// CHECK-LABEL: func.func @parameters_are_zero_there
func.func @parameters_are_zero_there(
    %a: tensor<2x7xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<7x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>, pm.state = #pm.state<parameter, "w">}) -> (tensor<2x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>}) {
  // CHECK: %[[M:.*]] = stablehlo.select %{{.*}}, %arg0, %
  // CHECK: stablehlo.dot_general %[[M]], %arg1
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] {pm.shardings = [#pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>]} : (tensor<2x7xf32>, tensor<7x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>]

// So is what comes from parameters by products, sums and the like, but not by an
// exponential.
// CHECK-LABEL: func.func @zero_is_followed
func.func @zero_is_followed(
    %a: tensor<2x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>},
    %w: tensor<7x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>, pm.state = #pm.state<parameter, "w">}) -> (
      tensor<2xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>}, tensor<2xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>}) {
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK: %[[Y:.*]] = stablehlo.dot_general
  %y = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]} : (tensor<2x4xf32>, tensor<7x4xf32>) -> tensor<2x7xf32>
  // CHECK: %[[S:.*]] = stablehlo.multiply %[[Y]], %[[Y]]
  %s = stablehlo.multiply %y, %y {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]} : tensor<2x7xf32>
  // CHECK: stablehlo.reduce(%[[S]]
  %0 = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"x"}>]} : (tensor<2x7xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: %[[E:.*]] = stablehlo.exponential %[[Y]]
  %e = stablehlo.exponential %y {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]} : tensor<2x7xf32>
  // CHECK: %[[M:.*]] = stablehlo.select %{{.*}}, %[[E]],
  // CHECK: stablehlo.reduce(%[[M]]
  %1 = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"x"}>]} : (tensor<2x7xf32>, tensor<f32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>, <"mb", temporal = 2>]

// A buffer is zero there when all that fragments write to it is.
// CHECK-LABEL: func.func @makes_zero
func.func @makes_zero(%ids: tensor<4xi32> {pm.buffer = @ids, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>},
    %dy: tensor<4x2xf32> {pm.buffer = @dy, pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>}) -> (
      tensor<7x2xf32> {pm.buffer = @zero, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}], partial = sum{"mb"}>}, tensor<7x2xf32> {pm.buffer = @other, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}], partial = sum{"mb"}>})
    attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %0 = pm.embedding_grad %ids, %dy {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}], partial = sum{"mb"}>]} : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<7x2xf32>
  %1 = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]} dense<1.0> : tensor<7x2xf32>
  %2 = stablehlo.multiply %0, %1 {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}], partial = sum{"mb"}>]} : tensor<7x2xf32>
  return %0, %2 : tensor<7x2xf32>, tensor<7x2xf32>
}
// CHECK-LABEL: func.func @reads_zero
func.func @reads_zero(%a: tensor<7x2xf32> {pm.buffer = @zero, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<7x2xf32> {pm.buffer = @other, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<f32> {pm.buffer = @s, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"x"}>}, tensor<f32> {pm.buffer = @t, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"x"}>})
    attributes {pm.fragment = #pm.fragment<update, 0>} {
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK: stablehlo.reduce(%arg0
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"x"}>]} : (tensor<7x2xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: %[[M:.*]] = stablehlo.select %{{.*}}, %arg1,
  // CHECK: stablehlo.reduce(%[[M]]
  %1 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"x"}>]} : (tensor<7x2xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
pm.program @step on @mesh {
  pm.buffer @ids input : tensor<4xi32> sharding <@mesh, [{"mb"}]>
  pm.buffer @dy activation : tensor<4x2xf32> sharding <@mesh, [{"mb"}, {}]>
  pm.buffer @zero accumulator : tensor<7x2xf32> sharding <@mesh, [{"x"}, {}], partial = sum{"mb"}>
  pm.buffer @other accumulator : tensor<7x2xf32> sharding <@mesh, [{"x"}, {}], partial = sum{"mb"}>
  pm.buffer @s value : tensor<f32> sharding <@mesh, [], partial = sum{"x"}>
  pm.buffer @t value : tensor<f32> sharding <@mesh, [], partial = sum{"x"}>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>]

// An op that names sizes takes all of the block.
// CHECK-LABEL: func.func @slices_of_other_dimensions
func.func @slices_of_other_dimensions(%a: tensor<7x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: stablehlo.slice %arg0 [0:3, 1:3] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  %0 = stablehlo.slice %a [0:7, 1:3] {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]} : (tensor<7x4xf32>) -> tensor<7x2xf32>
  return %0 : tensor<7x2xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// Of six rows in blocks of two the first rank has two micro-batches, the second one
// and an empty one. Where they are together they are one block of four.
// CHECK-LABEL: func.func @short_micro_batches
// CHECK-SAME: %arg0: tensor<2x4xf32>
func.func @short_micro_batches(%x: tensor<6x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK-DAG: %[[DP:.*]] = pm.axis_index "dp" on @mesh
  // CHECK-DAG: %[[MB:.*]] = pm.axis_index "mb" on @mesh
  // CHECK: %[[SIZE:.*]] = stablehlo.constant dense<6> : tensor<i32>
  // CHECK: stablehlo.multiply %[[DP]]
  // CHECK: %[[PLACE:.*]] = stablehlo.add %{{.*}}, %[[MB]]
  // CHECK: %[[OFFSET:.*]] = stablehlo.multiply %[[PLACE]]
  // CHECK: stablehlo.subtract %[[SIZE]], %[[OFFSET]]
  // CHECK: stablehlo.select
  // CHECK: stablehlo.reduce
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>]} : (tensor<6x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @all_micro_batches
// CHECK-SAME: %arg0: tensor<4x4xf32>
func.func @all_micro_batches(%x: tensor<6x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>}) attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK-NOT: pm.axis_index "mb"
  // CHECK: %[[SIZE:.*]] = stablehlo.constant dense<6> : tensor<i32>
  // CHECK: %[[BLOCK:.*]] = stablehlo.constant dense<4> : tensor<i32>
  // CHECK: %[[OFFSET:.*]] = stablehlo.multiply %{{.*}}, %[[BLOCK]]
  // CHECK: stablehlo.subtract %[[SIZE]], %[[OFFSET]]
  // CHECK: stablehlo.select
  // CHECK: stablehlo.reduce
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"dp", "mb"}>]} : (tensor<6x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 3>]

// Together they may be longer than the dimension, and whoever needs that takes what
// there is.
// CHECK-LABEL: func.func @longer_than_the_dimension
// CHECK-SAME: %arg0: tensor<9xf32>
func.func @longer_than_the_dimension(%x: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) -> (tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}, tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  // CHECK: %[[WHOLE:.*]] = stablehlo.slice %arg0 [0:8] : (tensor<9xf32>) -> tensor<8xf32>
  // CHECK: %[[DOUBLE:.*]] = stablehlo.add %[[WHOLE]], %[[WHOLE]] : tensor<8xf32>
  // CHECK: %[[LONG:.*]] = stablehlo.pad %[[DOUBLE]], %{{.*}}, low = [0], high = [1], interior = [0]
  // CHECK: return %[[DOUBLE]], %[[LONG]] : tensor<8xf32>, tensor<9xf32>
  %0 = pm.reshard %x from <@mesh, [{"mb"}]> to <@mesh, [{}]> {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %1 = stablehlo.add %0, %0 {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %2 = pm.reshard %1 from <@mesh, [{}]> to <@mesh, [{"mb"}]> {pm.shardings = [#pm.sharding<@mesh, [{"mb"}]>]} : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
