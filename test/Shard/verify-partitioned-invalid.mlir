// RUN: pmopt %s --pm-verify-partitioned --split-input-file --verify-diagnostics

// expected-error @below {{a partitioned module has a pm.mesh}}
module {
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @reshard_left(%x: tensor<4xf32>) {
  // expected-error @below {{is left at the partitioned level}}
  %0 = pm.reshard %x from <@mesh, [{}]> to <@mesh, [{}]> : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @shardings_left(%x: tensor<4xf32>) {
  // expected-error @below {{has shardings at the partitioned level, where types are local}}
  %0 = stablehlo.negate %x {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

func.func @temporal_collective(%x: tensor<4xf32>) {
  // expected-error @below {{runs over the temporal axis 'mb'; micro-batches are summed by buffers}}
  %0 = pm.all_reduce sum(%x) over ["mb"] on @mesh : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @unknown_axis(%x: tensor<4xf32>) {
  // expected-error @below {{runs over the axis 'tp', which the mesh does not have}}
  %0 = pm.all_reduce sum(%x) over ["tp"] on @mesh : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 2>]

func.func @stage_collective(%x: tensor<4xf32>) {
  // expected-error @below {{runs over the stage axis 'pp'; stages exchange values by transfers}}
  %0 = pm.all_reduce sum(%x) over ["pp"] on @mesh : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @gather_of_an_unknown_axis(%x: tensor<4xf32>) {
  // expected-error @below {{runs over the axis 'tp', which the mesh does not have}}
  %0 = pm.all_gather %x dim 0 over ["tp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 3>]

func.func @gather_of_other_blocks(%x: tensor<4xf32>) {
  // expected-error @below {{has blocks of 4 elements, but dimension 0 of 8 is 3 for each of 3 ranks}}
  %0 = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 3>]

func.func @scatter_into_other_blocks(%x: tensor<2x8xf32>) {
  // expected-error @below {{has blocks of 2 elements, but dimension 1 of 8 is 3 for each of 3 ranks}}
  %0 = pm.reduce_scatter %x sum dim 1 over ["dp"] on @mesh : (tensor<2x8xf32>) -> tensor<2x2xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// expected-error @below {{argument 0 is 'tensor<4xf32>', but its buffer @x gives 'tensor<2xf32>'}}
func.func @wrong_shape(%x: tensor<4xf32> {pm.buffer = @x}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<2xf32> sharding <@mesh, [{"dp", "mb"}]> {global_type = tensor<8xf32>}
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{argument 0 is bound to @y, which the program does not have}}
func.func @wrong_buffer(%x: tensor<4xf32> {pm.buffer = @y}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{argument 0 is bound to no buffer}}
func.func @no_buffer(%x: tensor<4xf32>) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @global_types(%x: tensor<4xf32> {pm.buffer = @x}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return
}
pm.program @step on @mesh {
  // expected-error @below {{has no global type; run pm-partition}}
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]>
}
