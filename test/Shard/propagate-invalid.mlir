// RUN: pmopt %s --pm-propagate --split-input-file --verify-diagnostics

// expected-error @below {{the module has no mesh; run pm-apply-strategy, or add a pm.mesh}}
module {
  func.func @main(%x: tensor<4xf32>) {
    return
  }
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a sharding names the axis 'tp', which the mesh 'mesh' does not have}}
func.func @unknown_axis(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>]

// expected-error @below {{a sharding names the axis 'pp', which is a stage axis: it divides ops, not values}}
func.func @stage_axis(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"pp"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a value of type 'i32' cannot be sharded; only ranked tensors can}}
func.func @no_tensor(%x: i32) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a function with 2 blocks cannot be sharded; use structured control flow}}
func.func @blocks() {
  return
^bb1:
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @unknown_partial_axis(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // expected-error @below {{a sharding names the axis 'tp', which the mesh 'mesh' does not have}}
  %0 = stablehlo.negate %x {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"tp"}>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a sharding names the axis 'tp', which the mesh 'mesh' does not have}}
func.func @result_over_no_axis(%x: tensor<4xf32>) -> (tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>}) {
  return %x : tensor<4xf32>
}
