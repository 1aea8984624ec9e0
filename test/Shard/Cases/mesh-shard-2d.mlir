// Two axes change places: the ranks (i, j) and (j, i) exchange their blocks in one
// permute.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.all_{{gather|to_all|reduce}}
// CHECK: pm.collective_permute {{.*}} : tensor<4x4xf32>
// CHECK-NOT: pm.{{all_|collective_permute}}
// CHECK: return
func.func @main(%a: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = pm.constrain %a to <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  %1 = stablehlo.logistic %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
