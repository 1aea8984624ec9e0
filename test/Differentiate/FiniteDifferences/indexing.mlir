// RUN: pmcheck gradients %s

// Starts beyond the end are clamped, in both directions.
func.func @dynamic_slice(%x: tensor<5x3xf64>) -> (tensor<2x3xf64>, tensor<2x2xf64>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %far = stablehlo.constant dense<9> : tensor<i32>
  %before = stablehlo.constant dense<-4> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %one, %before, sizes = [2, 3] : (tensor<5x3xf64>, tensor<i32>, tensor<i32>) -> tensor<2x3xf64>
  %1 = stablehlo.dynamic_slice %x, %far, %one, sizes = [2, 2] : (tensor<5x3xf64>, tensor<i32>, tensor<i32>) -> tensor<2x2xf64>
  return %0, %1 : tensor<2x3xf64>, tensor<2x2xf64>
}
func.func @dynamic_update_slice(%x: tensor<5x3xf64>, %u: tensor<2x2xf64>) -> (tensor<5x3xf64>, tensor<5x3xf64>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %far = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %one, %one : (tensor<5x3xf64>, tensor<2x2xf64>, tensor<i32>, tensor<i32>) -> tensor<5x3xf64>
  %1 = stablehlo.dynamic_update_slice %x, %u, %far, %one : (tensor<5x3xf64>, tensor<2x2xf64>, tensor<i32>, tensor<i32>) -> tensor<5x3xf64>
  return %0, %1 : tensor<5x3xf64>, tensor<5x3xf64>
}
// Some rows are taken twice, and the last index lies outside.
func.func @gather_rows(%table: tensor<5x3xf64>) -> tensor<2x3x3xf64> {
  %ids = stablehlo.constant dense<[[[0], [3], [3]], [[4], [1], [7]]]> : tensor<2x3x1xi32>
  %rows = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<2x3x1xi32>) -> tensor<2x3x3xf64>
  return %rows : tensor<2x3x3xf64>
}
func.func @gather_windows(%x: tensor<5x4xf64>) -> tensor<3x2x3xf64> {
  %ids = stablehlo.constant dense<[[1, 0], [9, 1], [-3, 5]]> : tensor<3x2xi32>
  %windows = "stablehlo.gather"(%x, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 3>}> : (tensor<5x4xf64>, tensor<3x2xi32>) -> tensor<3x2x3xf64>
  return %windows : tensor<3x2x3xf64>
}
func.func @gather_in_batches(%x: tensor<3x5x2xf64>) -> tensor<3x4x2xf64> {
  %ids = stablehlo.constant dense<[[[0], [1], [4], [1]], [[2], [2], [2], [0]], [[3], [4], [0], [1]]]> : tensor<3x4x1xi32>
  %y = "stablehlo.gather"(%x, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<3x5x2xf64>, tensor<3x4x1xi32>) -> tensor<3x4x2xf64>
  return %y : tensor<3x4x2xf64>
}
