// RUN: pmcheck gradients %s

func.func @sum(%x: tensor<3x5x7xf64>, %init: tensor<f64>) -> (tensor<5xf64>, tensor<f64>) {
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x5x7xf64>, tensor<f64>) -> tensor<5xf64>
  %1 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<3x5x7xf64>, tensor<f64>) -> tensor<f64>
  return %0, %1 : tensor<5xf64>, tensor<f64>
}
func.func @maximum(%x: tensor<3x5x7xf64>) -> tensor<3x7xf64> {
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5x7xf64>, tensor<f64>) -> tensor<3x7xf64>
  return %0 : tensor<3x7xf64>
}
func.func @minimum_beyond_an_initial_value(%x: tensor<3x5xf64>) -> tensor<5xf64> {
  %high = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<3x5xf64>, tensor<f64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}
func.func @softmax(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf64>, tensor<f64>) -> tensor<3xf64>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xf64>) -> tensor<3x5xf64>
  %d = stablehlo.subtract %x, %mb : tensor<3x5xf64>
  %e = stablehlo.exponential %d : tensor<3x5xf64>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x5xf64>, tensor<f64>) -> tensor<3xf64>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf64>) -> tensor<3x5xf64>
  %y = stablehlo.divide %e, %sb : tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
