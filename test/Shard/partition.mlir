// RUN: pmopt %s --pm-partition --split-input-file | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// A temporal axis is inactive in a plain function.
// CHECK-LABEL: func.func @plain_function
// CHECK-SAME: tensor<4x4xf32>
func.func @plain_function(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (tensor<f32> {pm.sharding = #pm.sharding<@mesh, []>}) {
  // CHECK-NOT: pm.shardings
  %zero = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
  // CHECK: %[[S:.*]] = stablehlo.reduce({{.*}}tensor<4x4xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"dp", "mb"}>]} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: %[[R:.*]] = pm.all_reduce sum(%[[S]]) over ["dp"] on @mesh : tensor<f32>
  %1 = pm.reshard %0 from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> {pm.shardings = [#pm.sharding<@mesh, []>]} : tensor<f32>
  // CHECK: return %[[R]]
  return %1 : tensor<f32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @forward_is_one_micro_batch
// CHECK-SAME: tensor<2x4xf32>
func.func @forward_is_one_micro_batch(
    %x: tensor<8x4xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}) -> (tensor<8x3xf32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // CHECK: stablehlo.slice {{.*}} [0:2, 1:4] {{.*}} -> tensor<2x3xf32>
  %0 = stablehlo.slice %x [0:8, 1:4] {pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]} : (tensor<8x4xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
// CHECK: pm.buffer @x input : tensor<2x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {global_type = tensor<8x4xf32>}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<8x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]>
  pm.buffer @y activation : tensor<8x3xf32> sharding <@mesh, [{"dp", "mb"}, {}]>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]

// CHECK-LABEL: func.func @generated_values_follow_the_rank
func.func @generated_values_follow_the_rank() -> (
    tensor<8xi32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "tp"}]>}, tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>}, tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>}) {
  // CHECK-DAG: %[[DP:.*]] = pm.axis_index "dp" on @mesh
  // CHECK-DAG: %[[TP:.*]] = pm.axis_index "tp" on @mesh
  // CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<2xi32>
  // CHECK: %[[TWO:.*]] = stablehlo.constant dense<2> : tensor<i32>
  // CHECK: %[[MAJOR:.*]] = stablehlo.multiply %[[DP]], %[[TWO]]
  // CHECK: %[[BLOCK:.*]] = stablehlo.add %[[MAJOR]], %[[TP]]
  // CHECK: %[[OFFSET:.*]] = stablehlo.multiply %[[BLOCK]], %{{.*}}
  // CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[OFFSET]]
  // CHECK: stablehlo.add %[[I]], %[[SPREAD]]
  %0 = stablehlo.iota dim = 0 {pm.shardings = [#pm.sharding<@mesh, [{"dp", "tp"}]>]} : tensor<8xi32>
  // CHECK: stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
  %1 = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, [{"tp"}]>]} dense<1.0> : tensor<4xf32>
  // CHECK: %[[C:.*]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
  // CHECK: stablehlo.dynamic_slice %[[C]], {{.*}} sizes = [2]
  %2 = stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, [{"tp"}]>]} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  return %0, %1, %2 : tensor<8xi32>, tensor<4xf32>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"one", spatial = 1>]

// CHECK-LABEL: func.func @reshards
func.func @reshards(
    %whole: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>},
    %partial: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = max{"dp"}>},
    %cut: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"one"}, {}]>}) -> (
    tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  // CHECK: stablehlo.dynamic_slice %arg0{{.*}} sizes = [4, 4]
  %0 = pm.reshard %whole from <@mesh, [{}, {}]> to <@mesh, [{"dp"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {}]>]} : tensor<8x4xf32>
  // CHECK: pm.reduce_scatter %arg1 max dim 0 over ["dp"] on @mesh : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = pm.reshard %partial from <@mesh, [{}, {}], partial = max{"dp"}> to <@mesh, [{"dp"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {}]>]} : tensor<8x4xf32>
  // An axis of size 1 cuts nothing.
  // CHECK: return %{{.*}}, %{{.*}}, %arg2
  %2 = pm.reshard %cut from <@mesh, [{"one"}, {}]> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
