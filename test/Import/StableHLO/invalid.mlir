// What cannot be imported is refused by name.
// RUN: pmopt %s --pm-import-stablehlo -split-input-file -verify-diagnostics

func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// expected-note @+1 {{the function}}
func.func private @a(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @b(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @b(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@a calls itself, which cannot be inlined}}
  %0 = call @a(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls @outside, which has no body}}
  %0 = call @outside(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{custom_call @lapack_spotrf_ffi names code that is not in the module, and cannot be compiled}}
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {api_version = 4 : i32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{has mhlo.num_replicas = 2; export for partitions (jax.jit with shardings, not jax.pmap)}}
module attributes {mhlo.num_replicas = 2 : i32} {
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @+1 {{mesh @other has 4 devices, but @mesh has 8; all meshes of a module must have the same devices}}
sdy.mesh @other = <["x"=4]>

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error @+1 {{mesh @other has its devices in another order than @mesh}}
sdy.mesh @other = <["x"=4], device_ids=[3, 2, 1, 0]>

// -----

sdy.mesh @mesh = <["x"=2]>
// expected-error @+1 {{there is no sdy.mesh @other}}
func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=2]>
// expected-error @+1 {{the mesh has no axis "y"}}
func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=2]>
// expected-error @+1 {{has a sharding of 2 dimensions, but is 'tensor<4xf32>'}}
func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=6]>
// expected-error @+1 {{axis "x" of size 6 has no part of size 2 behind 4}}
func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(4)2}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=2]>
// expected-error @+1 {{axis 'x' occurs twice in a sharding}}
func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=3]>
sdy.mesh @other = <["a"=3, "b"=2]>
// expected-error @+1 {{an axis of one mesh does not fit axis "y" of size 3 of the first mesh}}
func.func public @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@other, [{"a"}]>}) {
  return
}

// -----

// Found by a damaged copy of collectives.mlir.
// expected-error @+1 {{mesh @mesh has more than 1048576 devices}}
sdy.mesh @mesh = <["x"=2, "y"=4294967296]>
func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x", "y"} (%a: tensor<4xf32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
