// Elements that are put into a matrix of which each rank has rows: the indices are
// those of the whole matrix, and each rank puts what falls into its rows.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = {{\[\[}}1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]

pm.mesh @mesh = [<"x", spatial = 4>]

func.func @main(%zeros: tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
                %v: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>})
    -> (tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %ij = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %t = "stablehlo.scatter"(%zeros, %ij, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %t : tensor<4x4xf32>
}

func.func @values() -> (tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = pm.constrain %c to <@mesh, [{"x"}]> : tensor<4xf32>
  %ij = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %t = "stablehlo.scatter"(%zeros, %ij, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %t : tensor<4x4xf32>
}
