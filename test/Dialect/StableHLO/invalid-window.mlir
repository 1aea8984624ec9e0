// Refused windows, convolutions, random bits and calls.
// RUN: pmopt %s -split-input-file -verify-diagnostics

func.func @convolution_groups(%x: tensor<1x6x4xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+2 {{6 features in 6 groups do not meet 2 input features of the kernel}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<1x6x4xf32>, tensor<6x2x3xf32>) -> tensor<1x6x2xf32>
  return
}

// -----

func.func @convolution_roles(%x: tensor<1x6x4xf32>, %w: tensor<6x6x3xf32>) {
  // expected-error @+1 {{expected 'b' and 'f' once each and numbers, got 'o'}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, o, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x4xf32>, tensor<6x6x3xf32>) -> tensor<1x6x2xf32>
  return
}

// -----

func.func @convolution_window(%x: tensor<1x6x4xf32>, %w: tensor<6x6x3xf32>) {
  // expected-error @+1 {{'stride' is given twice}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x4xf32>, tensor<6x6x3xf32>) -> tensor<1x6x2xf32>
  return
}

// -----

func.func @window_stride(%x: tensor<4x6xf32>, %zero: tensor<f32>) {
  // expected-error @+2 {{window_strides has an element of 0, but needs positive ones}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 6>, window_strides = array<i64: 1, 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @random_state(%s: tensor<4xui32>) {
  // expected-error @+1 {{has a state of type 'tensor<4xui32>', but THREE_FRY needs tensor<2xui64>}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>)
  return
}

// -----

func.func @top_of_too_few(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{takes 7 of 6 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0, %1 = chlo.top_k(%x, k = 7) : tensor<4x6xf32> -> (tensor<4x7xf32>, tensor<4x7xi32>)
  return
}

// -----

func.func @composite_of_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{no function is called @absent}}
  %0 = stablehlo.composite "my.sin" %x {decomposition = @absent} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @format(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a format such as e8m7, got 'f32'}}
  %0 = stablehlo.reduce_precision %x, format = f32 : tensor<4xf32>
  return
}

// -----

func.func @format_of_no_exponent(%x: tensor<4xf32>) {
  // expected-error @+1 {{rounds to e0m7, but formats are from e1m0 to e11m52}}
  %0 = stablehlo.reduce_precision %x, format = e0m7 : tensor<4xf32>
  return
}
