pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @main(%x: tensor<8x32xf32> {pm.input = "x"}) -> tensor<8x32xf32> {
  %y = stablehlo.add %x, %x : tensor<8x32xf32>
  %z = pm.constrain %y to <@mesh, [{"dp"}, {}]> : tensor<8x32xf32>
  return %z : tensor<8x32xf32>
}
