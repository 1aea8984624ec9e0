// Columns, then rows, of five over two ranks: the sum over the rows leaves out
// what is behind the end of the last block, and is one all-reduce.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"tp", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.all_gather
// CHECK: stablehlo.dot_general {{.*}} -> tensor<1x3xf32>
// CHECK: stablehlo.select
// CHECK: stablehlo.dot_general
// CHECK: pm.all_reduce sum({{.*}} : tensor<1x5xf32>
// CHECK-NOT: pm.{{all_reduce|all_gather}}
func.func @main(%x: tensor<1x5xf32>,
                %w1: tensor<5x5xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>},
                %w2: tensor<5x5xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<1x5xf32> {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<1x5xf32>, tensor<5x5xf32>) -> tensor<1x5xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<1x5xf32>, tensor<5x5xf32>) -> tensor<1x5xf32>
  return %y : tensor<1x5xf32>
}
