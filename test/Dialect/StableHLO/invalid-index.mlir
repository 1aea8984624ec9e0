// Refused gathers and scatters.
// RUN: pmopt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

func.func @gather_rank(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{offset_dims, collapsed_slice_dims and operand_batching_dims name 1 dimensions of an operand of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_vector_dim(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{index_vector_dim 4 of indices of rank 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 4>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_map_count(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{start_index_map has 2 elements for index vectors of size 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_map_range(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{start_index_map with operand_batching_dims names dimension 2 of a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_offset_range(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{offset_dims names dimension 3 of a tensor of rank 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_offset_order(%x: tensor<10x4xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+2 {{offset_dims does not ascend: 1 follows 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x1xi32>) -> tensor<2x1x4xf32>
  return
}

// -----

func.func @gather_collapsed_order(%x: tensor<10x4xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+2 {{collapsed_slice_dims does not ascend: 0 follows 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_batching_order(%x: tensor<10x4xf32>, %i: tensor<10x4x0xi32>) {
  // expected-error @+2 {{operand_batching_dims does not ascend: 0 follows 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<10x4x0xi32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @gather_absent_twice(%x: tensor<10x4xf32>, %i: tensor<10x1xi32>) {
  // expected-error @+2 {{collapsed_slice_dims with operand_batching_dims names dimension 0 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<10x1xi32>) -> tensor<10xf32>
  return
}

// -----

func.func @gather_batching_vector(%x: tensor<10x4xf32>, %i: tensor<10x1xi32>) {
  // expected-error @+2 {{start_indices_batching_dims names the index vector's dimension 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<10x1xi32>) -> tensor<10x1xf32>
  return
}

// -----

func.func @gather_batching_count(%x: tensor<10x4xf32>, %i: tensor<10x1xi32>) {
  // expected-error @+2 {{operand_batching_dims has 1 elements, but start_indices_batching_dims has 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<10x1xi32>) -> tensor<10x1xf32>
  return
}

// -----

func.func @gather_batching_size(%x: tensor<10x4xf32>, %i: tensor<9x1xi32>) {
  // expected-error @+2 {{batching dimension 0 of the operand has size 10, but dimension 0 of the indices has size 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<10x4xf32>, tensor<9x1xi32>) -> tensor<9x1xf32>
  return
}

// -----

func.func @gather_sizes_count(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{slice_sizes has 1 elements, but 2 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_size(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{slice size 5 does not lie in dimension 1 of size 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 5>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @gather_collapsed_size(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{slice size 2 of dimension 0, which the slice lacks, is above 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 2, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_result(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x3x3xf32>' are incompatible with return type(s) of operation 'tensor<2x3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_field(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+1 {{unknown field 'other'}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, other = [1]>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @gather_field_twice(%x: tensor<10x4xf32>, %i: tensor<2x3x1xi32>) {
  // expected-error @+1 {{field 'offset_dims' is given twice}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, offset_dims = [1]>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_operands(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error @+2 {{expected inputs, indices and as many updates as inputs, got 4 operands}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_rank(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error @+2 {{update_window_dims, inserted_window_dims and input_batching_dims name 1 dimensions of an operand of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_update_rank(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4x1xf32>) {
  // expected-error @+2 {{updates of type 'tensor<3x4x1xf32>' have rank 3, expected 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4x1xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_window_size(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x5xf32>) {
  // expected-error @+2 {{dimension 1 of the updates has size 5, above the size 4 of dimension 1 of the input}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_batch_size(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<2x4xf32>) {
  // expected-error @+2 {{dimension 0 of the updates has size 2, but the indices have 3 there}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<2x4xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_update_type(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xi32>) {
  // expected-error @+2 {{input 0 of type 'tensor<10x4xf32>' is updated with elements of type 'i32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xi32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_shapes(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>, %y: tensor<9x4xf32>) {
  // expected-error @+2 {{input 1 or update 1 has another shape than the first}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<10x4xf32>, tensor<9x4xf32>)
  return
}

// -----

func.func @scatter_body(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error @+1 {{the update computation has arguments of types ('tensor<f32>'), expected ('tensor<f32>', 'tensor<f32>')}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>):
    %1 = stablehlo.add %a, %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @scatter_result(%x: tensor<10x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<10x4xf32>' are incompatible with return type(s) of operation 'tensor<9x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return
}
