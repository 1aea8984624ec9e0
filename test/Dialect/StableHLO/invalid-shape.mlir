// Refused ops that make or move elements.
// RUN: pmopt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

func.func @constant_of_vector() {
  // expected-error @+1 {{result #0 must be statically shaped tensor of number or boolean values, but got 'vector<4xf32>'}}
  %0 = stablehlo.constant dense<0.0> : vector<4xf32>
  return
}

// -----

func.func @constant_result() {
  // expected-error @+2 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<5xf32>
  return
}

// -----

func.func @iota_dimension() {
  // expected-error @+1 {{counts along dimension 2 of a result of rank 2}}
  %0 = stablehlo.iota dim = 2 : tensor<2x8xi32>
  return
}

// -----

func.func @iota_negative_dimension() {
  // expected-error @+1 {{counts along dimension -1 of a result of rank 2}}
  %0 = stablehlo.iota dim = -1 : tensor<2x8xi32>
  return
}

// -----

func.func @iota_boolean() {
  // expected-error @+1 {{result #0 must be statically shaped tensor of number values}}
  %0 = stablehlo.iota dim = 0 : tensor<2xi1>
  return
}

// -----

func.func @broadcast_count(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dims has 1 elements, but 2 are needed}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @broadcast_range(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dims names dimension 2 of a tensor of rank 2}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @broadcast_twice(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dims names dimension 1 twice}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dimension 1 of the operand has size 6, but dimension 1 of the result has size 8}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{changes the element type from 'f32' to 'i32'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6xi32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{makes 25 elements out of 24}}
  %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{changes the element type from 'f32' to 'i32'}}
  %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xi32>
  return
}

// -----

func.func @bitcast_shape(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected a result of type 'tensor<4x6x2xi16>', got 'tensor<4x6xi16>'}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4x6xf32>) -> tensor<4x6xi16>
  return
}

// -----

func.func @bitcast_operand_shape(%x: tensor<4x3xi16>) {
  // expected-error @+1 {{expected an operand of type 'tensor<4x2xi16>', got 'tensor<4x3xi16>'}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4x3xi16>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast_width(%x: tensor<4xi24>) {
  // expected-error @+1 {{element types of 24 and 32 bits do not divide each other}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xi24>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast_complex(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{goes between complex and real elements}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

func.func @transpose_count(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{permutation has 1 elements, but 2 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [0] : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_twice(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{permutation names dimension 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [1, 1] : (tensor<4x6xf32>) -> tensor<6x6xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<6x4xf32>' are incompatible with return type(s) of operation 'tensor<4x6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @reverse_range(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dims names dimension 2 of a tensor of rank 2}}
  %0 = stablehlo.reverse %x, dims = [2] : tensor<4x6xf32>
  return
}

// -----

func.func @reverse_twice(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{dims names dimension 0 twice}}
  %0 = stablehlo.reverse %x, dims = [0, 0] : tensor<4x6xf32>
  return
}

// -----

func.func @concatenate_nothing() {
  // expected-error @+2 {{nothing to concatenate}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<0xf32>
  return
}

// -----

func.func @concatenate_dimension(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{concatenates along dimension 2 of tensors of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, dim = 2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concatenate_size(%x: tensor<4x6xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+2 {{operand 1 of type 'tensor<4x5xf32>' differs from the first one's type 'tensor<4x6xf32>' not only in dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @concatenate_rank(%x: tensor<4x6xf32>, %y: tensor<6xf32>) {
  // expected-error @+2 {{operand 1 of type 'tensor<6xf32>' differs from the first one's type 'tensor<4x6xf32>' not only in dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @concatenate_result(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<8x6xf32>' are incompatible with return type(s) of operation 'tensor<9x6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<9x6xf32>
  return
}

// -----

func.func @concatenate_missing_comma(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.concatenate %x dim = 0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<4x6xf32>, %v: tensor<i32>) {
  // expected-error @+2 {{the padding value of type 'tensor<i32>' is not a rank-0 tensor of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<4x6xf32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_count(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{high has 1 elements, but 2 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_interior(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{interior padding -1 of dimension 1 is negative}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0, 0], interior = [0, -1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_below_nothing(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{dimension 0 of size 4 would have size -1 after padding}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [-3, 0], high = [-2, 0], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_overflow(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{the padded size of dimension 0 exceeds 64 bits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %x, %v, low = [9223372036854775807, 0], high = [0, 0], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{range 2:7 does not lie in dimension 1 of size 6}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:4, 2:7] : (tensor<4x6xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @slice_reversed(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{range 3:2 does not lie in dimension 0 of size 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [3:2, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{stride 0 of dimension 0 is not positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:4:0, 0:6] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @slice_count(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{start_indices has 1 elements, but 2 are needed}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:4] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @slice_result(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x6xf32>' are incompatible with return type(s) of operation 'tensor<1x6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %x [0:4:3, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @dynamic_slice_count(%x: tensor<4x6xf32>, %i: tensor<i32>) {
  // expected-error @+2 {{1 start indices for a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1, 1] : (tensor<4x6xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_index_types(%x: tensor<4x6xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @+2 {{start indices of types 'tensor<i32>' and 'tensor<i64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1] : (tensor<4x6xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_index_rank(%x: tensor<4x6xf32>, %i: tensor<1xi32>) {
  // expected-error @+1 {{operand #1 must be variadic of rank-0 statically shaped tensor of integer values}}
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 1] : (tensor<4x6xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_size(%x: tensor<4x6xf32>, %i: tensor<i32>) {
  // expected-error @+2 {{size 7 does not lie in dimension 1 of size 6}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 7] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x7xf32>
  return
}

// -----

func.func @dynamic_update_slice_size(%x: tensor<4x6xf32>, %u: tensor<5x6xf32>, %i: tensor<i32>) {
  // expected-error @+2 {{dimension 0 of the update has size 5, that of the operand 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x6xf32>, tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_type(%x: tensor<4x6xf32>, %u: tensor<6xf32>, %i: tensor<i32>) {
  // expected-error @+2 {{an update of type 'tensor<6xf32>' for an operand of type 'tensor<4x6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x6xf32>, tensor<6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_result(%x: tensor<4x6xf32>, %i: tensor<i32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x6xf32>' are incompatible with return type(s) of operation 'tensor<4x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %x, %x, %i, %i : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @optimization_barrier_types(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4x6xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.optimization_barrier"(%x) : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}
