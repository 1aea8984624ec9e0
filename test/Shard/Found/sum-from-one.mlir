// A sum that begins with one has ones behind the end of its blocks: they were taken
// as zero by the product that sums over the dimension.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b --seed=1711294026
pm.mesh @mesh = [<"x", spatial = 3>]
func.func @main(%arg0: tensor<2x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}, %arg1: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %v0 = stablehlo.tanh %arg0 : tensor<2x8xf32>
  %v1 = stablehlo.constant dense<1.000000> : tensor<f32>
  %v2 = stablehlo.reduce(%v0 init: %v1) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
  %v3 = pm.constrain %v2 to <@mesh, [{"x"}]> : tensor<8xf32>
  %v4 = stablehlo.negate %arg1 : tensor<2xf32>
  %v5 = stablehlo.negate %v4 : tensor<2xf32>
  %v6 = stablehlo.negate %v5 : tensor<2xf32>
  %v7 = stablehlo.dot_general %v3, %v3, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return %v6, %v7 : tensor<2xf32>, tensor<f32>
}
