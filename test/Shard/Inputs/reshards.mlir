// MESH has the axes x and y, ROWS is a size.
pm.mesh @mesh = [MESH]
func.func @cut(%a: tensor<ROWSx6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>},
               %b: tensor<ROWSx6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>,
        tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>) {
  %0 = pm.constrain %a to <@mesh, [{}, {}]> : tensor<ROWSx6xf32>
  %1 = pm.constrain %a to <@mesh, [{"x"}, {}]> : tensor<ROWSx6xf32>
  %2 = pm.constrain %a to <@mesh, [{"y", "x"}, {}]> : tensor<ROWSx6xf32>
  %3 = pm.constrain %a to <@mesh, [{"y"}, {"x"}]> : tensor<ROWSx6xf32>
  %4 = pm.constrain %b to <@mesh, [{"x", "y"}, {}]> : tensor<ROWSx6xf32>
  %5 = pm.constrain %b to <@mesh, [{}, {"y"}]> : tensor<ROWSx6xf32>
  %6 = pm.constrain %b to <@mesh, [{"y"}, {"x"}]> : tensor<ROWSx6xf32>
  %7 = pm.constrain %1 to <@mesh, [{"x", "y"}, {}]> : tensor<ROWSx6xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7
    : tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>,
      tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>
}
func.func @partial(%a: tensor<8xROWSx6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}, {}]>},
                   %b: tensor<8xROWSx6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>,
        tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xROWSx6xf32>, tensor<f32>) -> tensor<ROWSx6xf32>
  %0 = pm.constrain %s to <@mesh, [{}, {}]> : tensor<ROWSx6xf32>
  %1 = pm.constrain %s to <@mesh, [{"y"}, {}]> : tensor<ROWSx6xf32>
  %2 = pm.constrain %s to <@mesh, [{"y", "x"}, {}]> : tensor<ROWSx6xf32>
  %3 = pm.constrain %s to <@mesh, [{"y"}, {"x"}]> : tensor<ROWSx6xf32>
  %t = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8xROWSx6xf32>, tensor<f32>) -> tensor<ROWSx6xf32>
  %4 = pm.constrain %t to <@mesh, [{}, {}]> : tensor<ROWSx6xf32>
  %5 = pm.constrain %t to <@mesh, [{"y", "x"}, {}]> : tensor<ROWSx6xf32>
  %6 = pm.constrain %t to <@mesh, [{"x"}, {}]> : tensor<ROWSx6xf32>
  %7 = pm.constrain %t to <@mesh, [{"x"}, {"y"}]> : tensor<ROWSx6xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7
    : tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>,
      tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>
}
