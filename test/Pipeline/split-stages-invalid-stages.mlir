// RUN: pmopt %s --pm-propagate --pm-split-stages --split-input-file --verify-diagnostics

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

func.func @stage_out_of_range(
    %x: tensor<8xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) -> tensor<8xf32> {
  // expected-error @below {{is on stage 2, but the mesh has 2 stages}}
  %0 = stablehlo.tanh %x {pm.stage = 2 : i64} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

func.func @forward_needs_a_later_stage(
    %x: tensor<8xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}]>},
    %w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  %b = stablehlo.broadcast_in_dim %w, dims = [] {pm.stage = 0 : i64} : (tensor<f32>) -> tensor<8xf32>
  // expected-error @below {{belongs to the forward fragment of stage 1, but the forward fragment of stage 0, which runs before it, needs its result}}
  %0 = stablehlo.multiply %x, %b {pm.stage = 1 : i64} : tensor<8xf32>
  %1 = stablehlo.tanh %0 {pm.stage = 0 : i64} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

func.func @backward_needs_an_earlier_stage(
    %x: tensor<8xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}]>},
    %w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8xf32> {
  %b = stablehlo.broadcast_in_dim %w, dims = [] {pm.stage = 0 : i64} : (tensor<f32>) -> tensor<8xf32>
  // expected-error @below {{belongs to the backward fragment of stage 0, but the backward fragment of stage 1, which runs before it, needs its result}}
  %0 = stablehlo.multiply %x, %b {pm.phase = "backward", pm.stage = 0 : i64} : tensor<8xf32>
  %1 = stablehlo.tanh %0 {pm.phase = "backward", pm.stage = 1 : i64} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]

func.func @maximum_over_micro_batches(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<4xf32> {pm.output = "y"}) {
  %low = stablehlo.constant {pm.stage = 0 : i64} dense<0xFF800000> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %w, dims = [1] {pm.stage = 0 : i64} : (tensor<4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.multiply %x, %b {pm.stage = 0 : i64} : tensor<8x4xf32>
  // expected-error @below {{is a max over micro-batches that the reduce fragment needs, but only sums can be accumulated over a temporal axis}}
  %0 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] {pm.stage = 1 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.tanh %0 {pm.phase = "update"} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
