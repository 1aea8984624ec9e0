// RUN: pmopt %s --pm-verify-sharded --split-input-file --verify-diagnostics

// expected-error @below {{a sharded graph has a pm.mesh}}
module {
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{argument 0 has no sharding; every value of a sharded graph has one}}
func.func @missing(%x: tensor<4xf32>) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{argument 0 has an open dimension}}
func.func @open(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{?}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{argument 0 names the axis 'tp', which the mesh 'mesh' does not have}}
func.func @unknown(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @partial_through_a_nonlinear_op(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp"}>}) {
  // expected-error @below {{operand 0 is #pm.sharding<@mesh, [{}], partial = sum{"dp"}>, but the op needs #pm.sharding<@mesh, [{}]>; a pm.reshard must stand between}}
  %0 = stablehlo.tanh %x {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"dp"}>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @partial_plus_whole(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp"}>},
                              %y: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // expected-error @below {{operand 0 is #pm.sharding<@mesh, [{}], partial = sum{"dp"}>, but the op needs #pm.sharding<@mesh, [{}]>}}
  %0 = stablehlo.add %x, %y {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"dp"}>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @forgotten_sum(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>},
                         %zero: tensor<f32> {pm.sharding = #pm.sharding<@mesh, []>}) {
  %c = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // expected-error @below {{result 0 is #pm.sharding<@mesh, []>, but the op makes #pm.sharding<@mesh, [], partial = sum{"dp"}>}}
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] {pm.shardings = [#pm.sharding<@mesh, []>]} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @wrong_source(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{the source #pm.sharding<@mesh, [{}]> is not the operand's sharding #pm.sharding<@mesh, [{"dp"}]>}}
  %0 = pm.reshard %x from <@mesh, [{}]> to <@mesh, [{}]> {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @wrong_target(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{the target #pm.sharding<@mesh, [{}]> is not the result's sharding #pm.sharding<@mesh, [{"dp"}]>}}
  %0 = pm.reshard %x from <@mesh, [{"dp"}]> to <@mesh, [{}]> {pm.shardings = [#pm.sharding<@mesh, [{"dp"}]>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @constraint_left(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @below {{a constraint is left; pm-propagate resolves it}}
  %0 = pm.constrain %x to <@mesh, [{"dp"}]> {pm.shardings = [#pm.sharding<@mesh, [{"dp"}]>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @partial_result(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp"}>}) -> tensor<4xf32> {
  // expected-error @below {{result 0 of the function is partial}}
  return %x : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @result_without_a_sharding(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
  // expected-error @below {{result 0 of the function is #pm.sharding<@mesh, [{"dp"}]>, which its 'pm.sharding' must say}}
  return %x : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a sharded function has one block, not 2}}
func.func @blocks() {
  return
^bb1:
  return
}
