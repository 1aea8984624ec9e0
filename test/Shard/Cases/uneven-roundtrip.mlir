// Five rows over four ranks (2, 2, 1 and none) and back.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK: pm.all_gather {{.*}} : (tensor<2x10xf32>) -> tensor<5x10xf32>
func.func @main(%a: tensor<5x10xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> (tensor<5x10xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  %0 = pm.constrain %a to <@mesh, [{"x"}, {}]> : tensor<5x10xf32>
  %1 = stablehlo.negate %0 : tensor<5x10xf32>
  %2 = pm.constrain %1 to <@mesh, [{"x"}, {}]> : tensor<5x10xf32>
  return %2 : tensor<5x10xf32>
}
