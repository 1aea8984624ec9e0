// RUN: pmcheck gradients %s

func.func @broadcast(%x: tensor<1x3xf64>, %s: tensor<f64>) -> (tensor<5x7x3xf64>, tensor<3x5xf64>, tensor<3x2x1xf64>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<5x7x3xf64>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<3x5xf64>
  %2 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<1x3xf64>) -> tensor<3x2x1xf64>
  return %0, %1, %2 : tensor<5x7x3xf64>, tensor<3x5xf64>, tensor<3x2x1xf64>
}
func.func @broadcast_that_permutes(%x: tensor<2x3x5xf64>) -> tensor<5x7x2x3xf64> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 3, 0] : (tensor<2x3x5xf64>) -> tensor<5x7x2x3xf64>
  return %0 : tensor<5x7x2x3xf64>
}
func.func @sum_of_a_broadcast(%x: tensor<1x3xf64>) -> (tensor<3xf64>, tensor<5xf64>, tensor<f64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %b = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x3xf64>) -> tensor<5x7x3xf64>
  %0 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x7x3xf64>, tensor<f64>) -> tensor<3xf64>
  %1 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<5x7x3xf64>, tensor<f64>) -> tensor<5xf64>
  %2 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<5x7x3xf64>, tensor<f64>) -> tensor<f64>
  return %0, %1, %2 : tensor<3xf64>, tensor<5xf64>, tensor<f64>
}
func.func @reshape_transpose_reverse(%x: tensor<3x5x2xf64>) -> tensor<5x6xf64> {
  %0 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<3x5x2xf64>) -> tensor<5x2x3xf64>
  %1 = stablehlo.reverse %0, dims = [0, 2] : tensor<5x2x3xf64>
  %2 = stablehlo.reshape %1 : (tensor<5x2x3xf64>) -> tensor<5x6xf64>
  return %2 : tensor<5x6xf64>
}
func.func @concatenate(%a: tensor<3x2xf64>, %b: tensor<3x5xf64>) -> tensor<3x9xf64> {
  %0 = stablehlo.concatenate %a, %b, %a, dim = 1 : (tensor<3x2xf64>, tensor<3x5xf64>, tensor<3x2xf64>) -> tensor<3x9xf64>
  return %0 : tensor<3x9xf64>
}
func.func @pad(%x: tensor<3x5xf64>, %v: tensor<f64>) -> (tensor<8x7xf64>, tensor<4x10xf64>) {
  %0 = stablehlo.pad %x, %v, low = [1, 2], high = [2, 0], interior = [1, 0] : (tensor<3x5xf64>, tensor<f64>) -> tensor<8x7xf64>
  %1 = stablehlo.pad %x, %v, low = [-1, 3], high = [2, -2], interior = [0, 1] : (tensor<3x5xf64>, tensor<f64>) -> tensor<4x10xf64>
  return %0, %1 : tensor<8x7xf64>, tensor<4x10xf64>
}
func.func @slice(%x: tensor<8x7xf64>) -> tensor<3x3xf64> {
  %0 = stablehlo.slice %x [1:8:3, 2:7:2] : (tensor<8x7xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}
func.func @barrier(%x: tensor<3xf64>, %y: tensor<5xf64>) -> (tensor<3xf64>, tensor<5xf64>) {
  %e = stablehlo.exponential %x : tensor<3xf64>
  %0:2 = stablehlo.optimization_barrier %e, %y : tensor<3xf64>, tensor<5xf64>
  %1 = stablehlo.multiply %0#0, %x : tensor<3xf64>
  return %1, %0#1 : tensor<3xf64>, tensor<5xf64>
}
