// Blocks of two of four rows on four ranks, and a slice whose own blocks are of one
// row. Found by pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 4>]
func.func @main(%a: tensor<3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}b2]>}) -> (tensor<3x2xf32>, tensor<3x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [0:3, 0:2] : (tensor<3x4xf32>) -> tensor<3x2xf32>
  %1 = "stablehlo.reduce_window"(%a, %zero) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x3xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x3xf32>
}
