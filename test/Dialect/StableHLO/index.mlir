// Gathers, scatters and sorts, which JAX prints in the generic form.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @gather(
// CHECK: "stablehlo.gather"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
func.func @gather(%table: tensor<10x4xf32>, %ids: tensor<2x3x1xi32>) -> tensor<2x3x4xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @gather_batching(
// CHECK: "stablehlo.gather"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<4x6xf32>, tensor<4x1xi32>) -> tensor<4x1xf32>
func.func @gather_batching(%x: tensor<4x6xf32>, %ids: tensor<4x1xi32>) -> tensor<4x1xf32> {
  %0 = "stablehlo.gather"(%x, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<4x6xf32>, tensor<4x1xi32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @gather_one(
// CHECK: "stablehlo.gather"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<1xi32>) -> tensor<6xf32>
func.func @gather_one(%x: tensor<4x6xf32>, %i: tensor<1xi32>) -> tensor<6xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<1xi32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func.func @scatter(
// CHECK: "stablehlo.scatter"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<f32>
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<f32>
// CHECK: }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
func.func @scatter(%x: tensor<10x4xf32>, %ids: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> tensor<10x4xf32> {
  %0 = "stablehlo.scatter"(%x, %ids, %rows) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  return %0 : tensor<10x4xf32>
}

// CHECK-LABEL: func.func @scatter_batching(
// CHECK: "stablehlo.scatter"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
// CHECK: ^bb0(
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<f32>
// CHECK: }) : (tensor<16x16xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x16xf32>
func.func @scatter_batching(%x: tensor<16x16xf32>, %ids: tensor<16x1x1xi32>, %u: tensor<16x1xf32>) -> tensor<16x16xf32> {
  %0 = "stablehlo.scatter"(%x, %ids, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<16x16xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// CHECK-LABEL: func.func @sort(
// CHECK: "stablehlo.sort"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(
// CHECK: stablehlo.compare LT, %{{[^ ,)]+}}, %{{[^ ,)]+}}, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<i1>
// CHECK: }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
func.func @sort(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>) -> tensor<4x6xf32> {
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  return %0#0 : tensor<4x6xf32>
}
