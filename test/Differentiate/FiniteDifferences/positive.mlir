// RUN: pmcheck gradients %s --positive

func.func @log(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.log %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @log_plus_one(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.log_plus_one %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @sqrt(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.sqrt %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @rsqrt(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.rsqrt %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @cbrt(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.cbrt %x : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @power(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.power %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @remainder(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.remainder %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @divide(%a: tensor<3x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %y = stablehlo.divide %a, %b : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
