// RUN: pmopt %s --split-input-file --verify-diagnostics --pm-verify-kernels

// A loop that ends when this rank's own rows are small: others may go on.
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]
func.func @own_condition(%x: tensor<1xi1> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}, %y: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>})
    -> tensor<4xf32> attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %r = stablehlo.while(%z = %y) : tensor<4xf32>
  cond {
    // expected-note @below {{the condition}}
    %more = stablehlo.reshape %x : (tensor<1xi1>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    // expected-error @below {{stands in a while whose condition may differ between the ranks along 'dp', which all have to come here; make the condition the same on all of them, by replicating or reducing what it is computed from}}
    %s = pm.all_reduce sum(%z) over ["dp", "tp"] on @mesh : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// Ranks that share a condition may meet: tp is not what it differs over.
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]
func.func @other_axis(%x: tensor<1xi1> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}, %y: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>})
    -> tensor<4xf32> attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %p = stablehlo.reshape %x : (tensor<1xi1>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %s = pm.all_reduce sum(%y) over ["tp"] on @mesh : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What a loop carries differs when what it is computed from does.
pm.mesh @mesh = [<"dp", spatial = 2>]
func.func @carried(%x: tensor<i1> {pm.sharding = #pm.sharding<@mesh, []>}, %y: tensor<1xi1> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}, %z: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>})
    -> tensor<4xf32> attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %r:2 = stablehlo.while(%more = %x, %a = %z) : tensor<i1>, tensor<4xf32>
  // expected-note @-1 {{the condition}}
  cond {
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.reshape %y : (tensor<1xi1>) -> tensor<i1>
    // expected-error @below {{stands in a while whose condition may differ between the ranks along 'dp'}}
    %s = pm.all_reduce sum(%a) over ["dp"] on @mesh : tensor<4xf32>
    stablehlo.return %next, %s : tensor<i1>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
