// Five batches over two ranks: padding of one factor is zero, that of the other may
// be anything, and so may that of the product. Found by pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 2>]
func.func @main(%a: tensor<5x2x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}, {}]>}, %b: tensor<5xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> tensor<2x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<5x2x3xf32>, tensor<5xf32>) -> tensor<5x2x3xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
