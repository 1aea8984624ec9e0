// The gradient of a table that is cut by rows, from ids that are cut by columns over
// the same axis: only the rows of ids have one, and each has all of it.
// RUN: pmopt %s --pm-differentiate --pm-propagate --pm-verify-sharded -o %t.sharded.mlir
// RUN: pmopt %t.sharded.mlir --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %t.sharded.mlir %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// VALUES: gradient table = {{\[\[}}3, 3, 3, 3], [4, 4, 4, 4], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]

pm.mesh @mesh = [<"tp", spatial = 2>]

func.func @main(%table: tensor<8x4xf32> {pm.state = #pm.state<parameter, "table">, pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<[[0, 1, 5, 0], [1, 1, 0, 1]]> : tensor<2x4xi32>
  %ids = pm.constrain %c to <@mesh, [{}, {"tp"}]> : tensor<2x4xi32>
  %e = pm.embedding %table, %ids : (tensor<8x4xf32>, tensor<2x4xi32>) -> tensor<2x4x4xf32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
