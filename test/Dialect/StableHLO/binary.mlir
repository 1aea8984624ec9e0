// Elementwise ops of two operands, as JAX prints them.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @add(
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @add(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @add_integer(
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @add_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.add %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @divide(
// CHECK: stablehlo.divide %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @divide(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.divide %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @divide_integer(
// CHECK: stablehlo.divide %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @divide_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.divide %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @maximum(
// CHECK: stablehlo.maximum %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @maximum(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.maximum %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @maximum_integer(
// CHECK: stablehlo.maximum %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @maximum_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.maximum %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @minimum(
// CHECK: stablehlo.minimum %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @minimum(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.minimum %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @minimum_integer(
// CHECK: stablehlo.minimum %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @minimum_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.minimum %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @multiply(
// CHECK: stablehlo.multiply %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @multiply(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @multiply_integer(
// CHECK: stablehlo.multiply %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @multiply_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.multiply %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @power(
// CHECK: stablehlo.power %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @power(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.power %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @power_integer(
// CHECK: stablehlo.power %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @power_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.power %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @remainder(
// CHECK: stablehlo.remainder %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @remainder(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.remainder %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @remainder_integer(
// CHECK: stablehlo.remainder %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @remainder_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.remainder %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @subtract(
// CHECK: stablehlo.subtract %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2x3xf32>
func.func @subtract(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.subtract %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @subtract_integer(
// CHECK: stablehlo.subtract %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<3xui64>
func.func @subtract_integer(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %0 = stablehlo.subtract %a, %b : tensor<3xui64>
  return %0 : tensor<3xui64>
}

// CHECK-LABEL: func.func @and(
// CHECK: stablehlo.and %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xi1>
func.func @and(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.and %a, %b : tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @and_integer(
// CHECK: stablehlo.and %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i32>
func.func @and_integer(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.and %a, %b : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func.func @or(
// CHECK: stablehlo.or %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xi1>
func.func @or(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.or %a, %b : tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @or_integer(
// CHECK: stablehlo.or %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i32>
func.func @or_integer(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.or %a, %b : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func.func @xor(
// CHECK: stablehlo.xor %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xi1>
func.func @xor(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.xor %a, %b : tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @xor_integer(
// CHECK: stablehlo.xor %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i32>
func.func @xor_integer(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.xor %a, %b : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK-LABEL: func.func @shift_left(
// CHECK: stablehlo.shift_left %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xui32>
func.func @shift_left(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %0 = stablehlo.shift_left %a, %b : tensor<4xui32>
  return %0 : tensor<4xui32>
}

// CHECK-LABEL: func.func @shift_right_arithmetic(
// CHECK: stablehlo.shift_right_arithmetic %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xui32>
func.func @shift_right_arithmetic(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %0 = stablehlo.shift_right_arithmetic %a, %b : tensor<4xui32>
  return %0 : tensor<4xui32>
}

// CHECK-LABEL: func.func @shift_right_logical(
// CHECK: stablehlo.shift_right_logical %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xui32>
func.func @shift_right_logical(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %0 = stablehlo.shift_right_logical %a, %b : tensor<4xui32>
  return %0 : tensor<4xui32>
}

// CHECK-LABEL: func.func @add_boolean(
// CHECK: stablehlo.add %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2xi1>
func.func @add_boolean(%a: tensor<2xi1>, %b: tensor<2xi1>) -> tensor<2xi1> {
  %0 = stablehlo.add %a, %b : tensor<2xi1>
  return %0 : tensor<2xi1>
}

// CHECK-LABEL: func.func @multiply_complex(
// CHECK: stablehlo.multiply %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2xcomplex<f64>>
func.func @multiply_complex(%a: tensor<2xcomplex<f64>>, %b: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
  %0 = stablehlo.multiply %a, %b : tensor<2xcomplex<f64>>
  return %0 : tensor<2xcomplex<f64>>
}
