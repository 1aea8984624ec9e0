// RUN: pmopt %s --pm-propagate --verify-diagnostics | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @replicated_with_a_remark
func.func @replicated_with_a_remark(
    %x: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x6xf32> {
  // CHECK: %[[R:.*]] = pm.reshard %{{.*}} from <@mesh, [{"dp"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: "stablehlo.sort"(%[[R]])
  // expected-remark @below {{op 'stablehlo.sort' has no sharding rule; its operands and results are replicated}}
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %before = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// What a region takes from outside is whole too.
// CHECK-LABEL: func.func @captured_values_are_whole
func.func @captured_values_are_whole(
    %p: tensor<i1>,
    %x: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x6xf32> {
  // CHECK: %[[R:.*]] = pm.reshard %{{.*}} from <@mesh, [{"dp"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.return %[[R]]
  // CHECK: stablehlo.negate %[[R]]
  // expected-remark @below {{op 'stablehlo.if' has no sharding rule}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4x6xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4x6xf32>
    stablehlo.return %1 : tensor<4x6xf32>
  }) : (tensor<i1>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
