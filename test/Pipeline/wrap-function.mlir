// RUN: pmopt %s --pm-wrap-function --pm-verify-fragments | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 4>]

// CHECK: pm.mesh
// CHECK: func.func @stage0_forward(%{{.*}}: tensor<8x4xf32> {pm.buffer = @arg0, pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, %{{.*}}: tensor<i32> {pm.buffer = @arg1, pm.sharding = #pm.sharding<@mesh, []>})
// CHECK-SAME: -> (tensor<8x4xf32> {pm.buffer = @out0, pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, tensor<i32> {pm.buffer = @out1, pm.sharding = #pm.sharding<@mesh, []>})
// CHECK-SAME: attributes {pm.fragment = #pm.fragment<forward, 0>}
// CHECK: pm.program @step on @mesh
// CHECK-NEXT: pm.buffer @arg0 input : tensor<8x4xf32> sharding <@mesh, [{"dp"}, {}]> {role = "argument"}
// CHECK-NEXT: pm.buffer @arg1 input : tensor<i32> sharding <@mesh, []> {role = "argument"}
// CHECK-NEXT: pm.buffer @out0 output : tensor<8x4xf32> sharding <@mesh, [{"dp"}, {}]> {pm.name = "result[0]", role = "result"}
// CHECK-NEXT: pm.buffer @out1 output : tensor<i32> sharding <@mesh, []> {role = "result"}
// CHECK-NEXT: pm.role 0
func.func public @main(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, %n: tensor<i32> {pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<8x4xf32> {jax.result_info = "result[0]"}, tensor<i32>) {
  %0 = stablehlo.tanh %x {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {}]>]} : tensor<8x4xf32>
  return %0, %n : tensor<8x4xf32>, tensor<i32>
}
