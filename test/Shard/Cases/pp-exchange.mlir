// Two ranks that send to each other do so in one exchange, which no order of sends
// and receives can block.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK: pm.collective_permute {{.*}} sources [1, 0]
func.func @main(%a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %y = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}, {}]>] out [#pm.sharding<@mesh, [{"x"}, {}]>] manual ["x"] on @mesh : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%mine: tensor<4x4xf32>):
    %other = pm.collective_permute %mine over ["x"] sources [1, 0] on @mesh : tensor<4x4xf32>
    pm.return %other : tensor<4x4xf32>
  }
  return %y : tensor<8x4xf32>
}
