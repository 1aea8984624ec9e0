// RUN: pmopt %s --pm-split-stages --split-input-file --verify-diagnostics

// expected-error @below {{the module has no mesh; run pm-apply-strategy, or add a pm.mesh}}
module {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

// expected-error @below {{argument 0 has no sharding; run pm-propagate}}
func.func @main(%x: tensor<4xf32>) {
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // expected-error @below {{has no stage; run pm-assign-stages}}
  %0 = stablehlo.negate %x : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @main(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // expected-error @below {{has no sharding; run pm-propagate}}
  %0 = stablehlo.negate %x {pm.stage = 0 : i64} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

// expected-error @below {{a step is one block, but this has 2}}
func.func @main() {
  return
^bb1:
  return
}
