// What all ranks have becomes a part of a sum on the first of them, and a maximum
// is completed before it does. Found by pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 3>]
func.func @main(%a: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}], partial = sum{"y"}>}, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %0 = pm.constrain %max to <@mesh, [{}], partial = sum{"x"}> : tensor<6xf32>
  %1 = pm.constrain %max to <@mesh, [{"y"}], partial = max{"x"}> : tensor<6xf32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = pm.constrain %sum to <@mesh, [{}], partial = sum{"x", "y"}> : tensor<6xf32>
  return %a, %0, %1, %2 : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
