// Shardings as JAX writes them come back as they were.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
// CHECK: sdy.mesh @other = <["_axis_0"=8], device_ids=[0, 1, 2, 3, 4, 5, 6, 7]>
sdy.mesh @other = <["_axis_0"=8], device_ids=[0, 1, 2, 3, 4, 5, 6, 7]>
// CHECK: sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
// CHECK: sdy.mesh @empty_mesh = <[]>
sdy.mesh @empty_mesh = <[]>

// CHECK-LABEL: func.func @shardings(
// CHECK-SAME: %{{.*}}: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p0, {"y":(1)2, ?}p3], replicated={"y":(2)2}>}
// CHECK-SAME: %{{.*}}: tensor<f32> {sdy.sharding = #sdy.sharding<@maximal_mesh_0, []>}
// CHECK-SAME: -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {?}]>})
func.func @shardings(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p0, {"y":(1)2, ?}p3], replicated={"y":(2)2}>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@maximal_mesh_0, []>}) -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {?}]>}) {
  // CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{"x"}, {?}], unreduced={"y"}> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}], unreduced={"y"}> : tensor<8x8xf32>
  // CHECK: sdy.sharding_constraint %{{.*}} <mesh<["z"=8]>, [{"z"}, {}]> : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <mesh<["z"=8]>, [{"z"}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.sharding_group %{{.*}} group_id=7 : tensor<8x8xf32>
  sdy.sharding_group %1 group_id=7 : tensor<8x8xf32>
  // CHECK: stablehlo.add {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
  %2 = stablehlo.add %1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @manual(
func.func @manual(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>) {
  // CHECK: %{{.*}}:2 = sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] manual_axes={"x"} (%[[A:.*]]: tensor<4x8xf32>) {
  %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
    // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={"y"} () {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={"y"} () {
      %c = stablehlo.constant dense<4> : tensor<i32>
      // CHECK: sdy.return %{{.*}} : tensor<i32>
      sdy.return %c : tensor<i32>
    // CHECK: } : () -> tensor<i32>
    } : () -> tensor<i32>
    sdy.return %arg1, %1 : tensor<4x8xf32>, tensor<i32>
  // CHECK: } : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>)
  } : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<i32>
}

// CHECK-LABEL: func.func @nothing(
func.func @nothing() {
  // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
  // CHECK: sdy.return
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
    sdy.return
  } : () -> ()
  return
}
