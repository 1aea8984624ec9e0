// RUN: pmopt %s --pm-propagate --pm-assign-stages --pm-split-stages --split-input-file --verify-diagnostics

pm.mesh @mesh = [<"mb", temporal = 2>]

// The mean over the batch of an activation, taken from each of its elements.
func.func @activation_needs_its_sum(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<8x4xf32> {pm.output = "y"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-note @below {{the sum is needed here}}
  %root = stablehlo.tanh %sum : tensor<4xf32>
  // expected-error @below {{needs, within a micro-batch, a sum over all micro-batches of activations, which is complete only after the last one; compute it in the update, or use one micro-batch}}
  %all = stablehlo.broadcast_in_dim %root, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = stablehlo.subtract %y, %all : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @forward_needs_backward(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>}) -> (tensor<8x4xf32> {pm.output = "y"}) {
  // expected-error @below {{belongs to the backward fragment, but the forward fragment, which runs before it, needs its result}}
  %0 = stablehlo.tanh %x {pm.phase = "backward"} : tensor<8x4xf32>
  %1 = stablehlo.tanh %0 {pm.phase = "forward"} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @maximum_over_micro_batches(
    %x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>},
    %w: tensor<8x4xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<4xf32> {pm.output = "y"}) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = stablehlo.multiply %x, %w : tensor<8x4xf32>
  // expected-error @below {{is a max over micro-batches that the update fragment needs, but only sums can be accumulated over a temporal axis}}
  %0 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{a step is one function, but the module has 2}}
module {
  pm.mesh @mesh = [<"mb", temporal = 2>]
  func.func @a() {
    return
  }
  func.func @b() {
    return
  }
}
