// The row of the padding id gets no gradient from a table that is cut over two
// ranks; local row 1 of the other rank, which has the same place, keeps its own.
// RUN: pmopt %s --pm-differentiate --pm-propagate --pm-verify-sharded -o %t.sharded.mlir
// RUN: pmopt %t.sharded.mlir --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %t.sharded.mlir %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// VALUES: gradient table = {{\[\[}}0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]

pm.mesh @mesh = [<"tp", spatial = 2>]

func.func @main(%table: tensor<8x4xf32> {pm.state = #pm.state<parameter, "table">, pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ids = stablehlo.constant dense<[1, 5, 5, 2]> : tensor<4xi32>
  %e = pm.embedding %table, %ids padding 5 : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
