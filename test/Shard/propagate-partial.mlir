// Where partial values appear, flow, and are made whole.
// RUN: pmopt %s --pm-propagate --split-input-file | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @gradient_is_partial
// CHECK-SAME: -> (tensor<4x3xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>})
func.func @gradient_is_partial(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %dy: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[G:.*]] = stablehlo.dot_general {{.*}}[{}, {}], partial = sum{"dp", "mb"}
  // CHECK: %[[R:.*]] = pm.reshard %[[G]] from <@mesh, [{}, {}], partial = sum{"dp", "mb"}> to <@mesh, [{}, {}]>
  // CHECK: return %[[R]]
  %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// Two partial values are added before they are reduced.
// CHECK-LABEL: func.func @tied_gradients_are_added_first
func.func @tied_gradients_are_added_first(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %y: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.dot_general %y, %x, contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  // CHECK: stablehlo.transpose {{.*}}partial = sum{"dp", "mb"}
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.add {{.*}}partial = sum{"dp", "mb"}
  %3 = stablehlo.add %0, %2 : tensor<4x3xf32>
  // CHECK-COUNT-1: pm.reshard
  // CHECK-NOT: pm.reshard
  return %3 : tensor<4x3xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// A partial value and a whole one cannot be added: 10 would count twice.
// CHECK-LABEL: func.func @partial_plus_scalar
func.func @partial_plus_scalar(
    %x: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ten = stablehlo.constant dense<10.0> : tensor<f32>
  // CHECK: %[[S:.*]] = stablehlo.reduce
  // CHECK: %[[R:.*]] = pm.reshard %[[S]] from <@mesh, [], partial = sum{"dp"}> to <@mesh, []>
  // CHECK: stablehlo.add %[[R]]
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.add %0, %ten : tensor<f32>
  return %1 : tensor<f32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// Zero is partial over everything.
// CHECK-LABEL: func.func @partial_plus_zero
func.func @partial_plus_zero(
    %x: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.add {{.*}}partial = sum{"dp"}
  %1 = stablehlo.add %0, %zero : tensor<f32>
  return %1 : tensor<f32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @nonlinear_needs_the_whole
func.func @nonlinear_needs_the_whole(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<4xf32> {pm.state = #pm.state<parameter, "y">}) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[R:.*]] = pm.reshard
  // CHECK: stablehlo.multiply %[[R]], %[[R]]
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  // As it is whole anyhow, the linear use takes it whole: one reduction.
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.multiply %[[R]], %{{.*}}
  %2 = stablehlo.multiply %0, %y : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @linear_flows
func.func @linear_flows(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<4xf32> {pm.state = #pm.state<parameter, "y">}) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.multiply {{.*}}partial = sum{"dp"}
  %1 = stablehlo.multiply %0, %y : tensor<4xf32>
  // CHECK: stablehlo.negate {{.*}}partial = sum{"dp"}
  %2 = stablehlo.negate %1 : tensor<4xf32>
  // CHECK: pm.reshard
  return %2 : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// Reduced before it grows; but a sum over micro-batches has to wait anyhow.
// CHECK-LABEL: func.func @reduced_small
func.func @reduced_small(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>},
    %y: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[R:.*]] = pm.reshard
  // CHECK: stablehlo.broadcast_in_dim %[[R]], {{.*}}[{}, {}]>]
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.broadcast_in_dim {{.*}}partial = sum{"dp", "mb"}
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// A reduction that does not start from its neutral element would count its start
// once for each shard: it gives a whole result, of two steps that partitioning makes.
// A maximum is partial as a maximum.
// CHECK-LABEL: func.func @reductions
func.func @reductions(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.reduce{{.*}}stablehlo.add{{.*}}#pm.sharding<@mesh, [{}]>]
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.reduce{{.*}}stablehlo.maximum{{.*}}partial = max{"dp"}
  %1 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
