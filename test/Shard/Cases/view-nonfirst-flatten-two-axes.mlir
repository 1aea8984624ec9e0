// A dimension behind another is merged into it, on a mesh of two by three: its
// blocks do not lie side by side in the result.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 3>]

// CHECK-LABEL: func.func @main
// CHECK: pm.{{all_gather|all_to_all}}
func.func @main(%a: tensor<4x4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.reshape %a : (tensor<4x4x4xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
