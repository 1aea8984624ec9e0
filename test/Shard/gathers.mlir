// What an op needs whole, and why, is told when it is partitioned.
// RUN: pmopt %s --pm-propagate --pm-partition --verify-diagnostics -o /dev/null

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @a_reshape_that_mixes(
    %a: tensor<12x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<16x6xf32> {
  // expected-remark @below {{op 'stablehlo.reshape': dimension 1 of operand 0, cut over 'x', is gathered: a reshape joins it in other pieces than it has}}
  %0 = stablehlo.reshape %a : (tensor<12x8xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}

func.func @an_update(
    %a: tensor<8xf32>,
    %u: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<8xf32> {
  // expected-remark @below {{op 'stablehlo.dynamic_update_slice': dimension 0 of operand 1, cut over 'x', is gathered: where it goes is known at run time}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A sort of rows that no other dimension can be cut in the place of.
func.func @one_row(
    %a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-remark @below {{op 'stablehlo.sort': dimension 0 of operand 0, cut over 'x', is gathered: its elements move along it, and no other dimension is divided by the ranks}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %before = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
