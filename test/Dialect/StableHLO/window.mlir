// Windows, convolutions, random bits, complex parts and calls in the text of JAX.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @cumulative(
// CHECK: "stablehlo.reduce_window"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{base_dilations = array<i64: 1, 1>, padding = dense<{{\[\[}}0, 0], [5, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 6>, window_strides = array<i64: 1, 1>}> ({
func.func @cumulative(%x: tensor<4x6xf32>, %zero: tensor<f32>) -> tensor<4x6xf32> {
  %0 = "stablehlo.reduce_window"(%x, %zero) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [5, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 6>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @convolution_of_jax(
// CHECK: stablehlo.convolution(%{{[^ ,)]+}}, %{{[^ ,)]+}}) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x4xf32>, tensor<6x1x3xf32>) -> tensor<1x6x4xf32>
func.func @convolution_of_jax(%x: tensor<1x6x4xf32>, %w: tensor<6x1x3xf32>) -> tensor<1x6x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x4xf32>, tensor<6x1x3xf32>) -> tensor<1x6x4xf32>
  return %0 : tensor<1x6x4xf32>
}

// CHECK-LABEL: func.func @convolution_in_a_plane(
// CHECK: dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}1, 2], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x5x6x4xf32>
func.func @convolution_in_a_plane(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<2x5x6x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 2], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x5x6x4xf32>
  return %0 : tensor<2x5x6x4xf32>
}

// CHECK-LABEL: func.func @random_bits(
// CHECK: %output_state, %output = stablehlo.rng_bit_generator %{{[^ ,]+}}, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
// CHECK: stablehlo.rng_bit_generator %output_state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui8>)
func.func @random_bits(%s: tensor<2xui64>) -> (tensor<4xui32>, tensor<3x3xui8>) {
  %output_state, %output = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %0, %1 = stablehlo.rng_bit_generator %output_state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui8>)
  return %output, %1 : tensor<4xui32>, tensor<3x3xui8>
}

// CHECK-LABEL: func.func @parts(
// CHECK: stablehlo.complex %{{[^ ,]+}}, %{{[^ ,]+}} : tensor<4xcomplex<f32>>
// CHECK: stablehlo.real %{{[^ ,]+}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
// CHECK: stablehlo.imag %{{[^ ,]+}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
// CHECK: stablehlo.abs %{{[^ ,]+}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
func.func @parts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %z = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  %0 = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %2 = stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @special(
// CHECK: %values, %indices = chlo.top_k(%{{[^ ,]+}}, k = 3) : tensor<4x6xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
// CHECK: chlo.next_after %{{[^ ,]+}}, %{{[^ ,]+}} : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
// CHECK: chlo.erf_inv %{{[^ ,]+}} : tensor<4x6xf32> -> tensor<4x6xf32>
// CHECK: stablehlo.reduce_precision %{{[^ ,]+}}, format = e8m7 : tensor<4x6xf32>
func.func @special(%x: tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>, tensor<4x6xf32>) {
  %values, %indices = chlo.top_k(%x, k = 3) : tensor<4x6xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %0 = chlo.next_after %x, %x : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = chlo.erf_inv %0 : tensor<4x6xf32> -> tensor<4x6xf32>
  %2 = stablehlo.reduce_precision %1, format = e8m7 : tensor<4x6xf32>
  return %values, %indices, %2 : tensor<4x3xf32>, tensor<4x3xi32>, tensor<4x6xf32>
}

func.func private @my.sin(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @calls(
// CHECK: stablehlo.composite "my.sin" %{{[^ ]+}} {composite_attributes = {n = 3 : i64}, decomposition = @my.sin, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: stablehlo.custom_call @target(%{{[^ ,)]+}}) {backend_config = "", has_side_effect = true, mhlo.backend_config = {index = 0 : ui64}, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.sin" %x {composite_attributes = {n = 3 : i64}, decomposition = @my.sin, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @target(%0) {backend_config = "", has_side_effect = true, mhlo.backend_config = {index = 0 : ui64}, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
