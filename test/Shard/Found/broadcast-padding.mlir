// A row that is repeated over five ranks, two of which have one: the others' is no
// part of the sum. Found by pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 5>]
func.func @main(%row: tensor<1x2xf32>) -> (tensor<2x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}, tensor<2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<2x2xf32>
  %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %rows, %sum : tensor<2x2xf32>, tensor<2xf32>
}
