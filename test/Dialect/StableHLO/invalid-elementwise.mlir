// Refused elementwise ops.
// RUN: pmopt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

func.func @element_type(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating-point or complex values, but got 'tensor<4xi32>'}}
  %0 = stablehlo.tanh %x : tensor<4xi32>
  return
}

// -----

func.func @boolean_subtract(%x: tensor<4xi1>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of number values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.subtract %x, %x : tensor<4xi1>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of number values, but got 'tensor<?xf32>'}}
  %0 = stablehlo.abs %x : tensor<?xf32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of number values, but got 'tensor<*xf32>'}}
  %0 = stablehlo.abs %x : tensor<*xf32>
  return
}

// -----

func.func @encoding(%x: tensor<4xf32, 1 : i32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of number values, but got 'tensor<4xf32, 1 : i32>'}}
  %0 = stablehlo.abs %x : tensor<4xf32, 1 : i32>
  return
}

// -----

func.func @not_a_tensor(%x: f32) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of number values, but got 'f32'}}
  %0 = stablehlo.abs %x : f32
  return
}

// -----

func.func @different_types(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @type_list(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the types of 2 operands and of one result, got '(tensor<4xf32>) -> tensor<4xf32>'}}
  %0 = stablehlo.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @type_list_unary(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the types of 1 operand and of one result}}
  %0 = stablehlo.abs %x : () -> tensor<4xf32>
  return
}

// -----

func.func @is_finite_integer(%x: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating-point values}}
  %0 = stablehlo.is_finite %x : (tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @is_finite_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @convert_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

func.func @compare_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_result(%x: tensor<4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<4xi1>' are incompatible with return type(s) of operation 'tensor<5xi1>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @compare_float_as_signed(%x: tensor<4xf32>) {
  // expected-error @+1 {{compares elements of type 'f32' as SIGNED}}
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_integer_as_float(%x: tensor<4xi32>) {
  // expected-error @+1 {{compares elements of type 'i32' as FLOAT}}
  %0 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_boolean_as_signed(%x: tensor<4xi1>) {
  // expected-error @+1 {{compares elements of type 'i1' as SIGNED}}
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_unsigned_as_signed(%x: tensor<4xui8>) {
  // expected-error @+1 {{compares elements of type 'ui8' as SIGNED}}
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_complex_by_total_order(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{compares elements of type 'complex<f32>' as TOTALORDER}}
  %0 = stablehlo.compare EQ, %x, %x, TOTALORDER : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_direction(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::pipemesh::stablehlo::ComparisonDirection to be one of: EQ, NE, GE, GT, LE, LT}}
  // expected-error @+1 {{failed to parse StableHLO_ComparisonDirectionAttr parameter 'value'}}
  %0 = stablehlo.compare XX, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @select_branches(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+2 {{'on_true' has type 'tensor<4xf32>', but 'on_false' has type 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_predicate_shape(%p: tensor<5xi1>, %x: tensor<4xf32>) {
  // expected-error @+2 {{'pred' of type 'tensor<5xi1>' has neither rank 0 nor the shape of 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %x, %x : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

func.func @select_predicate_type(%p: tensor<4xi32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of boolean values}}
  %0 = stablehlo.select %p, %x, %x : tensor<4xi32>, tensor<4xf32>
  return
}

// -----

func.func @select_type_list(%p: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{expected the types of 3 operands and of one result}}
  %0 = stablehlo.select %p, %x, %x : (tensor<4xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_bound(%l: tensor<3xf32>, %x: tensor<4xf32>) {
  // expected-error @+2 {{'min' of type 'tensor<3xf32>' is neither a rank-0 tensor of 'f32' nor of the operand's type 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.clamp %l, %x, %x : (tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_bound_type(%l: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+2 {{'max' of type 'tensor<i32>' is neither a rank-0 tensor of 'f32' nor of the operand's type 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = stablehlo.clamp %x, %x, %l : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}
