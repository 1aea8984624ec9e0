// The values of gather and scatter.
// RUN: pmcheck run %s --print --function=gathers | FileCheck %s --check-prefix=GATHERS
// RUN: pmcheck run %s --print --function=scatters | FileCheck %s --check-prefix=SCATTERS

// Starts are clamped: 9 counts as the last row.
// GATHERS: out0 = {{\[\[}}5, 6], [1, 2], [5, 6]]
// GATHERS: out1 = {{\[\[}}3], [4]]
// GATHERS: out2 = {{\[\[}}2, 4], [5, 3]]
func.func @gathers() -> (tensor<3x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>) {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = stablehlo.constant dense<[[2], [-1], [9]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%x, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  %points = stablehlo.constant dense<[[0, 2], [1, 1]]> : tensor<2x2xi32>
  // Index vectors are columns: (0, 1) and (2, 1), of dimensions 1 and 0.
  %1 = "stablehlo.gather"(%x, %points) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xf32>, tensor<2x2xi32>) -> tensor<2x1xf32>
  // Column c of the operand with column c of the indices.
  %y = stablehlo.constant dense<[[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]> : tensor<2x3xf32>
  %picks = stablehlo.constant dense<[[[1], [2]], [[1], [0]]]> : tensor<2x2x1xi32>
  %2 = "stablehlo.gather"(%y, %picks) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<2x2x1xi32>) -> tensor<2x2xf32>
  return %0, %1, %2 : tensor<3x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>
}

// Updates outside are left out; equal indices are joined one after the other.
// SCATTERS: out0 = {{\[\[}}0, 0], [6, 8], [3, 4]]
// SCATTERS: out1 = {{\[\[}}0, 0], [5, 6], [3, 4]]
// SCATTERS: out2 = {{\[\[}}1, 1], [1, 2], [3, 4]]
func.func @scatters() -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<3x2xf32>
  %rows = stablehlo.constant dense<[[1], [2], [1], [7]]> : tensor<4x1xi32>
  %updates = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %0 = "stablehlo.scatter"(%zeros, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %1 = "stablehlo.scatter"(%zeros, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<3x2xf32>
  %2 = "stablehlo.scatter"(%ones, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // The larger one, where it is below 5.
    %present = stablehlo.maximum %a, %b : tensor<f32>
    %five = stablehlo.constant dense<5.0> : tensor<f32>
    %small = stablehlo.compare LT, %present, %five : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %result = stablehlo.select %small, %present, %a : tensor<i1>, tensor<f32>
    stablehlo.return %result : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return %0, %1, %2 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}
