// The gradient of a norm's input alone needs no other rank's rows.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.{{all_|reduce_scatter|collective}}
// CHECK: pm.rms_norm_input_grad {{.*}} : tensor<1x4x16xf32>
// CHECK-NOT: pm.{{all_|reduce_scatter|collective}}
// CHECK: return
func.func @main(%x: tensor<2x8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}, {}]>},
                %dy: tensor<2x8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}, {}]>},
                %w: tensor<16xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>})
    -> (tensor<2x8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32> -> tensor<2x8xf32>
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>
  return %dx : tensor<2x8x16xf32>
}
