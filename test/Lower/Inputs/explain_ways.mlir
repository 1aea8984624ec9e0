pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]
func.func @main(%x: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %y = stablehlo.tanh %x : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
