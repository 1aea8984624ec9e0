// RUN: pmcheck gradients %s

func.func @linear(%x: tensor<2x5x3xf64>, %w: tensor<7x3xf64>) -> tensor<2x5x7xf64> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1] : (tensor<2x5x3xf64>, tensor<7x3xf64>) -> tensor<2x5x7xf64>
  return %y : tensor<2x5x7xf64>
}
func.func @conv1d(%x: tensor<2x5x3xf64>, %w: tensor<3x7xf64>) -> tensor<2x5x7xf64> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x5x3xf64>, tensor<3x7xf64>) -> tensor<2x5x7xf64>
  return %y : tensor<2x5x7xf64>
}
func.func @batched_in_any_order(%q: tensor<2x5x3x4xf64>, %k: tensor<3x7x2x4xf64>) -> tensor<3x2x5x7xf64> {
  %y = stablehlo.dot_general %q, %k, batching_dims = [2, 0] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x5x3x4xf64>, tensor<3x7x2x4xf64>) -> tensor<3x2x5x7xf64>
  return %y : tensor<3x2x5x7xf64>
}
func.func @contracted_in_crossed_order(%a: tensor<2x3x4xf64>, %b: tensor<4x5x2x3xf64>) -> tensor<5xf64> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [0, 2, 1] x [2, 0, 3] : (tensor<2x3x4xf64>, tensor<4x5x2x3xf64>) -> tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @outer_product(%a: tensor<3xf64>, %b: tensor<2x5xf64>) -> tensor<3x2x5xf64> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<3xf64>, tensor<2x5xf64>) -> tensor<3x2x5xf64>
  return %y : tensor<3x2x5xf64>
}
func.func @with_itself(%a: tensor<3x5xf64>) -> tensor<3x3xf64> {
  %y = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<3x5xf64>, tensor<3x5xf64>) -> tensor<3x3xf64>
  return %y : tensor<3x3xf64>
}
