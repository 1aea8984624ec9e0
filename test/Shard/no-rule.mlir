// RUN: pmopt %s --pm-propagate --verify-diagnostics | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @replicated_with_a_remark
func.func @replicated_with_a_remark(
    %x: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x6xf32> {
  // CHECK: %[[R:.*]] = pm.reshard %{{.*}} from <@mesh, [{"dp"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.custom_call @elsewhere(%[[R]])
  // expected-remark @below {{op 'stablehlo.custom_call' has no sharding rule; its operands and results are replicated}}
  %0 = stablehlo.custom_call @elsewhere(%x) {api_version = 4 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
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
