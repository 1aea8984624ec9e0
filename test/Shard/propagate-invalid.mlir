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

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a value of type 'i32' cannot be sharded; only ranked tensors can}}
func.func @no_tensor(%x: i32) {
  return
}
