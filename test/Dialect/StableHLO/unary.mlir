// Elementwise ops of one operand, as JAX prints them.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @abs(
// CHECK: stablehlo.abs %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @abs(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.abs %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: stablehlo.cbrt %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @cbrt(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.cbrt %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: stablehlo.ceil %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @ceil(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.ceil %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @cosine(
// CHECK: stablehlo.cosine %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @cosine(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.cosine %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @exponential(
// CHECK: stablehlo.exponential %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @exponential(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.exponential %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @exponential_minus_one(
// CHECK: stablehlo.exponential_minus_one %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @exponential_minus_one(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.exponential_minus_one %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @floor(
// CHECK: stablehlo.floor %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @floor(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.floor %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @log(
// CHECK: stablehlo.log %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @log(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.log %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @log_plus_one(
// CHECK: stablehlo.log_plus_one %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @log_plus_one(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.log_plus_one %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @logistic(
// CHECK: stablehlo.logistic %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @logistic(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.logistic %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @negate(
// CHECK: stablehlo.negate %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @negate(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.negate %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @round_nearest_even(
// CHECK: stablehlo.round_nearest_even %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @round_nearest_even(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.round_nearest_even %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: stablehlo.rsqrt %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @rsqrt(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.rsqrt %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @sign(
// CHECK: stablehlo.sign %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @sign(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.sign %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @sine(
// CHECK: stablehlo.sine %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @sine(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.sine %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: stablehlo.sqrt %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @sqrt(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.sqrt %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: stablehlo.tanh %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @tanh(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.tanh %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @not(
// CHECK: stablehlo.not %{{[^ ,)]+}} : tensor<4xi1>
func.func @not(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.not %x : tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @not_integer(
// CHECK: stablehlo.not %{{[^ ,)]+}} : tensor<4xui8>
func.func @not_integer(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = stablehlo.not %x : tensor<4xui8>
  return %0 : tensor<4xui8>
}

// CHECK-LABEL: func.func @negate_integer(
// CHECK: stablehlo.negate %{{[^ ,)]+}} : tensor<i32>
func.func @negate_integer(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.negate %x : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func.func @sign_empty(
// CHECK: stablehlo.sign %{{[^ ,)]+}} : tensor<0x3xi8>
func.func @sign_empty(%x: tensor<0x3xi8>) -> tensor<0x3xi8> {
  %0 = stablehlo.sign %x : tensor<0x3xi8>
  return %0 : tensor<0x3xi8>
}

// CHECK-LABEL: func.func @exponential_complex(
// CHECK: stablehlo.exponential %{{[^ ,)]+}} : tensor<2xcomplex<f32>>
func.func @exponential_complex(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.exponential %x : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}

// CHECK-LABEL: func.func @tanh_bf16(
// CHECK: stablehlo.tanh %{{[^ ,)]+}} : tensor<3xbf16>
func.func @tanh_bf16(%x: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = stablehlo.tanh %x : tensor<3xbf16>
  return %0 : tensor<3xbf16>
}

// CHECK-LABEL: func.func @abs_f8(
// CHECK: stablehlo.abs %{{[^ ,)]+}} : tensor<3xf8E4M3FN>
func.func @abs_f8(%x: tensor<3xf8E4M3FN>) -> tensor<3xf8E4M3FN> {
  %0 = stablehlo.abs %x : tensor<3xf8E4M3FN>
  return %0 : tensor<3xf8E4M3FN>
}
