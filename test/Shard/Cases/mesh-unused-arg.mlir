// An argument that nothing uses stays whole on each rank.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 4>]

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<4x4xf32>
// CHECK-SAME: %arg1: tensor<16x16xf32>
// CHECK-NOT: pm.{{all_|collective}}
func.func @main(%a: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<16x16xf32>)
    -> (tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.logistic %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
