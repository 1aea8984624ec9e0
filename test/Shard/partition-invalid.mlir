// RUN: pmopt %s --pm-partition --split-input-file --verify-diagnostics

// expected-error @below {{the module has no mesh to partition over}}
module {
}

// -----

pm.mesh @mesh = [<"dp", spatial = 3>]

// expected-error @below {{axis 'dp' of size 3 does not divide dimension 0 of size 8 of a value of type 'tensor<8x4xf32>'; every shard must have the same size}}
func.func @uneven(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) {
  return
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

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @gather(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> (tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  // expected-error @below {{cannot reshard from #pm.sharding<@mesh, [{"dp"}, {}]> to #pm.sharding<@mesh, [{}, {}]>: dimension 0 is cut over 'dp' and needs to be gathered}}
  %0 = pm.reshard %x from <@mesh, [{"dp"}, {}]> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

func.func @to_partial(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // expected-error @below {{a whole value cannot become partial over 'dp'}}
  %0 = pm.reshard %x from <@mesh, [{}]> to <@mesh, [{}], partial = sum{"dp"}> {pm.shardings = [#pm.sharding<@mesh, [{}], partial = sum{"dp"}>]} : tensor<4xf32>
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
