// Two rows over four ranks: the padding is zero, and no maximum of what is negative.
// Found by pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]
func.func @main(%a: tensor<2x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> tensor<4xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.abs %a : tensor<2x4xf32>
  %1 = stablehlo.negate %0 : tensor<2x4xf32>
  %2 = pm.constrain %1 to <@mesh, [{"x", "y"}, {}]> : tensor<2x4xf32>
  %3 = stablehlo.reduce(%2 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
