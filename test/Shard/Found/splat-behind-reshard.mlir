// A scatter into a constant that is resharded in front of it has the rule of one
// into a constant: updates of all ranks are summed. It was refused.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b --seed=67120667
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 4>]
func.func @main(%arg0: tensor<2x2xf32>, %arg1: tensor<2x2xi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<2x1xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}p1, {}]>}) -> (tensor<2x2xf32>) {
  %v0 = stablehlo.constant dense<0.000000> : tensor<2x2xf32>
  %v1 = "stablehlo.scatter"(%v0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %v2 = pm.constrain %v1 to <@mesh, [{"y:(1)2"}, {}]> : tensor<2x2xf32>
  return %v2 : tensor<2x2xf32>
}
