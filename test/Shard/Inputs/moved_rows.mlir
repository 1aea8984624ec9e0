// MESH has the axes x and y, over which rows are cut; no other dimension is divided.
pm.mesh @mesh = [MESH]
func.func @slice(%a: tensor<13x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<9x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.slice %a [2:11, 4:7] : (tensor<13x7xf32>) -> tensor<9x3xf32>
  return %0 : tensor<9x3xf32>
}
func.func @stride(%a: tensor<13x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<5x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.slice %a [1:12:2, 0:7] : (tensor<13x7xf32>) -> tensor<6x7xf32>
  %1 = stablehlo.slice %0 [1:6, 0:7] : (tensor<6x7xf32>) -> tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}
func.func @pad(%a: tensor<10x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<13x9xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %one, low = [2, 1], high = [1, 1], interior = [0, 0] : (tensor<10x7xf32>, tensor<f32>) -> tensor<13x9xf32>
  return %0 : tensor<13x9xf32>
}
func.func @spread(%a: tensor<8x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<13x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %one, low = [-1, 0], high = [0, 0], interior = [1, 0] : (tensor<8x7xf32>, tensor<f32>) -> tensor<14x7xf32>
  %1 = stablehlo.slice %0 [0:13, 0:7] : (tensor<14x7xf32>) -> tensor<13x7xf32>
  return %1 : tensor<13x7xf32>
}
func.func @concatenate(%a: tensor<10x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>},
                       %b: tensor<3x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>},
                       %c: tensor<1x7xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>})
    -> (tensor<14x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<10x7xf32>, tensor<3x7xf32>, tensor<1x7xf32>) -> tensor<14x7xf32>
  return %0 : tensor<14x7xf32>
}
func.func @reverse(%a: tensor<11x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<11x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<11x7xf32>
  return %0 : tensor<11x7xf32>
}
func.func @columns(%a: tensor<7x11xi1> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<5x9xi1> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.slice %a [1:6, 2:11] : (tensor<7x11xi1>) -> tensor<5x9xi1>
  return %0 : tensor<5x9xi1>
}
func.func @empty(%a: tensor<0x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<0x1xf32>, tensor<0x1xi32>) {
  %0:2 = chlo.top_k(%a, k = 1) : tensor<0x12xf32> -> (tensor<0x1xf32>, tensor<0x1xi32>)
  return %0#0, %0#1 : tensor<0x1xf32>, tensor<0x1xi32>
}
