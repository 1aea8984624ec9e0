// Meshes and shardings of sdy become those of pm.
// RUN: pmopt %s --pm-import-stablehlo -split-input-file | FileCheck %s

// CHECK: pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 4>]
// CHECK-NOT: sdy.mesh
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
sdy.mesh @flat = <["_axis_0"=8]>
sdy.mesh @empty_mesh = <[]>

// CHECK-LABEL: func.func public @main(
// CHECK-SAME: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"y", "x"}, {}p2]>},
// CHECK-SAME: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"y:(2)2", ?}], replicated = {"x"}>, tf.aliasing_output = 0 : i32},
// CHECK-SAME: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}]>},
// CHECK-SAME: tensor<f32>)
// CHECK-SAME: -> (tensor<8x8xf32> {jax.result_info = "result", pm.sharding = #pm.sharding<@mesh, [{"x"}, {}], partial = sum{"y"}>})
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}p2]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2, ?}], replicated={"x"}>, tf.aliasing_output = 0 : i32}, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"_axis_0"}]>}, %arg3: tensor<f32> {sdy.sharding = #sdy.sharding<@maximal_mesh_0, []>}) -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) {
  // CHECK-NEXT: %[[A:.*]] = pm.constrain %arg0 to <@mesh, [{"x", ?}, {?}]> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x", ?}, {?}]> : tensor<8x8xf32>
  // All dimensions open, or none, or a mesh of nothing: no constraint.
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {?}]> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@empty_mesh, [{}, {}]> : tensor<8x8xf32>
  %3 = sdy.sharding_constraint %arg3 <@mesh, []> : tensor<f32>
  // Both parts of an axis are the axis.
  // CHECK-NEXT: %[[B:.*]] = pm.constrain %[[A]] to <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %2 <@mesh, [{"y":(1)2, "y":(2)2}, {}]> : tensor<8x8xf32>
  // CHECK-NEXT: pm.sharding_group %[[B]] id 7 : tensor<8x8xf32>
  sdy.sharding_group %4 group_id=7 : tensor<8x8xf32>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.add %[[B]], %[[B]] : tensor<8x8xf32>
  // CHECK-NEXT: %[[D:.*]] = pm.constrain %[[C]] to <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %5 = stablehlo.add %4, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
  // In a reducer every value is one element.
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
  %6 = stablehlo.reduce(%5 init: %3) across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.add %a, %b : tensor<f32>
    %c = sdy.sharding_constraint %s <@mesh, []> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }
  // CHECK: return %[[D]]
  return %5 : tensor<8x8xf32>
}

// -----

// Arguments and results of called functions.
// CHECK: pm.mesh @m = [<"x", spatial = 2>]
sdy.mesh @m = <["x"=2]>
// CHECK-LABEL: func.func public @main(
// CHECK-NEXT: %[[A:.*]] = pm.constrain %arg0 to <@m, [{"x"}]>
// CHECK-NEXT: %[[B:.*]] = stablehlo.tanh %[[A]]
// CHECK-NEXT: %[[C:.*]] = pm.constrain %[[B]] to <@m, [{}]>
// CHECK-NEXT: return %[[C]]
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Without a mesh that has axes there is no pm.mesh.
// CHECK-NOT: pm.mesh
// CHECK-LABEL: func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0
sdy.mesh @empty_mesh = <[]>
func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %arg0 <@empty_mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Strings of older exports: one mesh that fits all of them.
// CHECK: pm.mesh @mesh = [<"_axis_0", spatial = 2>, <"_axis_1", spatial = 2>, <"_axis_2", spatial = 2>]
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"_axis_0"}, {}]>}
// CHECK-SAME: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"_axis_1", "_axis_2"}, {"_axis_0"}]>}
// CHECK-SAME: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}
func.func public @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}, %arg2: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8x8xf32> {
  // CHECK-NEXT: pm.constrain %arg0 to <@mesh, [{"_axis_0", "_axis_1"}, {?}]> : tensor<8x8xf32>
  %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
