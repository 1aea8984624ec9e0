// RUN: pmopt %s --pm-partition --split-input-file --verify-diagnostics

// expected-error @below {{the module has no mesh to partition over}}
module {
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>, <"dp", spatial = 2>]

// expected-error @below {{axis 'dp' cuts dimension 0 within a micro-batch; put temporal axes behind spatial ones}}
func.func @temporal_outside(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"mb", "dp"}, {}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a value without a sharding cannot be partitioned; run pm-propagate}}
func.func @not_sharded(%x: tensor<8x4xf32>) {
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @gather_micro_batches(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"mb"}, {}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{cannot reshard from #pm.sharding<@mesh, [{"mb"}, {}]> to #pm.sharding<@mesh, [{}, {}]>: dimension 0 is cut over the temporal axis 'mb', and micro-batches are not gathered}}
  %0 = pm.reshard %x from <@mesh, [{"mb"}, {}]> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return
}

// -----

pm.mesh @mesh = [<"tp", spatial = 4>]

// An uneven cut of heads that the op takes apart.
func.func @uneven_merged_dimension(%x: tensor<2x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>}) {
  // expected-error @below {{dimension 1 of operand 0 of size 6 is cut unevenly over 'tp', and the op takes it apart; cut it into equal pieces, or constrain it to be whole}}
  %0 = stablehlo.reshape %x {pm.shardings = [#pm.sharding<@mesh, [{}, {}, {}]>]} : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @to_partial(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{a whole value cannot become partial over 'mb'}}
  %0 = pm.reshard %x from <@mesh, [{}]> to <@mesh, [{}], partial = sum{"mb"}> {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"mb"}>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]

func.func @sum_in_a_micro_batch(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"mb"}>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{a sum over the temporal axis 'mb' is complete only in a prologue or an update}}
  %0 = pm.reshard %x from <@mesh, [{}], partial = sum{"mb"}> to <@mesh, [{}]> {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// expected-error @below {{a function with 2 blocks cannot be partitioned; use structured control flow}}
func.func @blocks() {
  return
^bb1:
  return
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

func.func @collective_along_a_cut_dimension(%a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %r = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x", "y"}, {}]>] out [#pm.sharding<@mesh, [{"y"}, {}]>] manual ["x"] on @mesh
      {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%own: tensor<4x4xf32>):
    // expected-error @below {{moves elements along dimension 0, which is cut over 'y'; constrain it to be whole}}
    %0 = pm.all_gather %own dim 0 over ["x"] on @mesh {pm.shardings = [#pm.sharding<@mesh, [{"y"}, {}]>]} : (tensor<4x4xf32>) -> tensor<8x4xf32>
    pm.return %0 : tensor<8x4xf32>
  }
  return
}
