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

func.func @gather_of_other_blocks(%x: tensor<2xf32>) {
  // expected-error @below {{has blocks of 2 elements, but dimension 0 of 8 is 3 for each of 3 ranks}}
  %0 = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<2xf32>) -> tensor<8xf32>
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

pm.mesh @mesh = [<"dp", spatial = 3>]

// Blocks of 4 of a dimension of 8 lose nothing: the third is empty.
func.func @larger_blocks(%x: tensor<4xf32>) {
  %0 = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @exchange_that_loses_elements(%x: tensor<6x4xf32>) {
  // expected-error @below {{has blocks of 2 elements, but dimension 0 of 6 is 3 for each of 2 ranks}}
  %0 = pm.all_to_all %x split 0 concat 1 over ["dp"] on @mesh : (tensor<6x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @exchange_of_blocks_that_are_too_small(%x: tensor<6x4xf32>) {
  // expected-error @below {{has blocks of 4 elements, but dimension 1 of 9 is 5 for each of 2 ranks}}
  %0 = pm.all_to_all %x split 0 concat 1 over ["dp"] on @mesh : (tensor<6x4xf32>) -> tensor<3x9xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

func.func @permute_of_micro_batches(%x: tensor<4xf32>) {
  // expected-error @below {{runs over the temporal axis 'mb'; micro-batches are summed by buffers}}
  %0 = pm.collective_permute %x over ["mb"] sources [1, 0] on @mesh : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @collective_in_a_loop(%x: tensor<4xf32>, %p: tensor<i1>) {
  %0 = stablehlo.while(%v = %x) : tensor<4xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    // expected-error @below {{runs over the axis 'tp', which the mesh does not have}}
    %1 = pm.all_reduce sum(%v) over ["tp"] on @mesh : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @manual_computation_left(%x: tensor<4xf32>) {
  // expected-error @below {{is left at the partitioned level}}
  %0 = pm.manual_computation(%x) in [#pm.sharding<@mesh, [{"dp"}]>] out [#pm.sharding<@mesh, [{"dp"}]>] manual ["dp"] on @mesh : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%own: tensor<2xf32>):
    pm.return %own : tensor<2xf32>
  }
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @place_on_an_unknown_axis() {
  // expected-error @below {{asks for the place on the axis 'tp', which the mesh does not have}}
  %0 = pm.axis_index "tp" on @mesh : tensor<i32>
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
