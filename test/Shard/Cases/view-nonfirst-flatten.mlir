// A reshape that tears the cut dimension apart needs an exchange, and is right.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline --split-input-file | FileCheck %s
pm.mesh @mesh = [<"x", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK: pm.{{all_gather|all_to_all}}
func.func @main(%a: tensor<12x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<16x6xf32> {
  %0 = stablehlo.reshape %a : (tensor<12x8xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
