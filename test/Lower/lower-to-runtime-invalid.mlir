// RUN: pmopt %s --split-input-file --verify-diagnostics --pm-lower-to-runtime

// expected-error @below {{has no pm.program; run pm-split-stages, pm-partition and pm-schedule first}}
module {
}

// -----

pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]
pm.program @step on @mesh {
  // expected-error @below {{has no actions; run pm-schedule before pm-lower-to-runtime}}
  pm.role 0 {
  }
}

// -----

pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]>
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}
func.func @stage0_forward(%x: tensor<4xf32> {pm.buffer = @x}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{has no lowering to the runtime program; run pm-fuse-kernels before pm-lower-to-runtime}}
  %0 = stablehlo.negate %x : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 1>, <"mb", temporal = 1>]
pm.program @step on @mesh {
  pm.role 0 {
    // expected-error @below {{runs update of stage 0, but the module has no such fragment}}
    pm.action update stage 0 micro_batch 0
  }
}

// -----

// expected-error @below {{has no pm.mesh; run pm-split-stages, pm-partition and pm-schedule first}}
module {
  pm.program @step on @mesh {
    pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{"mb"}]>
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
pm.program @step on @mesh {
  // expected-error @below {{a program needs tensors of numbers with known sizes, but the type is 'tensor<?xf32>'}}
  pm.buffer @x input : tensor<?xf32> sharding <@mesh, [{"mb"}]>
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{"mb"}]>
}
// expected-error @below {{a program needs tensors of numbers with known sizes, but the type is 'tensor<?xf32>'}}
func.func @f(%x: tensor<?xf32> {pm.buffer = @x}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
