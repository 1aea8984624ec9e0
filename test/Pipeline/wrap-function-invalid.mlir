// RUN: pmopt %s --pm-wrap-function --split-input-file --verify-diagnostics

// expected-error @below {{the module has no mesh; run pm-apply-strategy, or add a pm.mesh}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{has the temporal axis 'mb' of size 2, but a whole function runs on spatial axes only; micro-batches and stages are for steps that pm-differentiate made}}
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{a program is made of one function with one block, but the module has 2 functions}}
module {
  pm.mesh @mesh = [<"dp", spatial = 2>]
  func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]
// expected-error @below {{argument 0 has no sharding; run pm-propagate}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]
// expected-error @below {{argument 0 is a state; a step is cut by pm-split-stages}}
func.func @main(%x: tensor<4xf32> {pm.state = #pm.state<parameter, "w">, pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]
// expected-error @below {{result 0 is #pm.sharding<@mesh, [{}], partial = sum{"dp"}>; what a function returns must not be partial}}
func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp"}>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]
// expected-error @below {{result 0 has no sharding; run pm-propagate}}
func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
