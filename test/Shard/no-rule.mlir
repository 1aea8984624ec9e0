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

// What such a region takes from outside is whole too.
// CHECK-LABEL: func.func @captured_values_are_whole
func.func @captured_values_are_whole(
    %x: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: %[[S:.*]] = stablehlo.reduce{{.*}}partial = sum{"dp"}
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: %[[R:.*]] = pm.reshard %[[S]] from <@mesh, [], partial = sum{"dp"}> to <@mesh, []>
  // CHECK: stablehlo.add %{{.*}}, %[[R]]
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %s : tensor<f32>
    %before = stablehlo.compare LT, %c, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
