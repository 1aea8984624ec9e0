// RUN: pmopt %s --pm-import-stablehlo -split-input-file -verify-diagnostics

// expected-error @+1 {{the sharding "{manual}" of a value of type 'tensor<4xf32>' is not understood; a newer jax writes shardings with meshes}}
func.func public @main(%arg0: tensor<4xf32> {mhlo.sharding = "{manual}"}) {
  return
}

// -----

// expected-error @+1 {{the mhlo.sharding strings cut the devices in ways that no one mesh has (after 2 and after 3)}}
module {
  func.func public @main(%arg0: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}, %arg1: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}) {
    return
  }
}

// -----

func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{custom_call @Sharding has no mhlo.sharding}}
  %0 = stablehlo.custom_call @Sharding(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @main(%arg0: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{custom_call @Sharding is not the identity}}
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
