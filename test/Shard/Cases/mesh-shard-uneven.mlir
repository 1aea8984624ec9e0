// Six rows over four ranks, through an op and back: padded blocks of two.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"g", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.logistic {{.*}} : tensor<2x8xf32>
func.func @main(%a: tensor<6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"g"}, {}]>})
    -> (tensor<6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"g"}, {}]>}, tensor<6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.logistic %a : tensor<6x8xf32>
  return %0, %0 : tensor<6x8xf32>, tensor<6x8xf32>
}
