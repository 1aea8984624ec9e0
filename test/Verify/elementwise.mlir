// The values of elementwise ops, from the definitions of the functions.
// RUN: pmcheck run %s --print --function=unary | FileCheck %s --check-prefix=UNARY
// RUN: pmcheck run %s --print --function=rounding | FileCheck %s --check-prefix=ROUNDING
// RUN: pmcheck run %s --print --function=binary | FileCheck %s --check-prefix=BINARY
// RUN: pmcheck run %s --print --function=integers | FileCheck %s --check-prefix=INTEGERS
// RUN: pmcheck run %s --print --function=shifts | FileCheck %s --check-prefix=SHIFTS
// RUN: pmcheck run %s --print --function=booleans | FileCheck %s --check-prefix=BOOLEANS
// RUN: pmcheck run %s --print --function=comparisons | FileCheck %s --check-prefix=COMPARISONS
// RUN: pmcheck run %s --print --function=conversions | FileCheck %s --check-prefix=CONVERSIONS
// RUN: pmcheck run %s --print --function=choices | FileCheck %s --check-prefix=CHOICES
// RUN: pmcheck run %s --print --function=error_function | FileCheck %s --check-prefix=ERF

// UNARY: out0 = [1.64872127, 0.367879441]
// UNARY: out1 = [0.648721271, -0.632120559]
// UNARY: out2 = [0.405465108, -inf]
// UNARY: out3 = [0.622459331, 0.268941421]
// UNARY: out4 = [0.479425539, -0.841470985]
// UNARY: out5 = [0.877582562, 0.540302306]
// UNARY: out6 = [0.462117157, -0.761594156]
// UNARY: out7 = [0.793700526, -1]
// UNARY: out8 = [0.5, 1]
// UNARY: out9 = [-0.693147181, 0]
// UNARY: out10 = [0.707106781, 1]
// UNARY: out11 = [1.41421356, 1]
// UNARY: out12 = [-0.5, 1]
func.func @unary() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %exp = stablehlo.exponential %x : tensor<2xf32>
  %expm1 = stablehlo.exponential_minus_one %x : tensor<2xf32>
  %log1p = stablehlo.log_plus_one %x : tensor<2xf32>
  %logistic = stablehlo.logistic %x : tensor<2xf32>
  %sine = stablehlo.sine %x : tensor<2xf32>
  %cosine = stablehlo.cosine %x : tensor<2xf32>
  %tanh = stablehlo.tanh %x : tensor<2xf32>
  %cbrt = stablehlo.cbrt %x : tensor<2xf32>
  %abs = stablehlo.abs %x : tensor<2xf32>
  %log = stablehlo.log %abs : tensor<2xf32>
  %sqrt = stablehlo.sqrt %abs : tensor<2xf32>
  %rsqrt = stablehlo.rsqrt %abs : tensor<2xf32>
  %negate = stablehlo.negate %x : tensor<2xf32>
  return %exp, %expm1, %log1p, %logistic, %sine, %cosine, %tanh, %cbrt, %abs, %log, %sqrt, %rsqrt, %negate : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// ROUNDING: out0 = [-2, 0, 3, -0]
// ROUNDING: out1 = [-3, 0, 2, -0]
// ROUNDING: out2 = [-2, 0, 2, -0]
// ROUNDING: out3 = [-1, 1, 1, -0]
// ROUNDING: out4 = [true, true, true, true]
func.func @rounding() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %x = stablehlo.constant dense<[-2.5, 0.125, 2.5, -0.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[-2.5, 0.0, 2.5, -0.0]> : tensor<4xf32>
  %ceil = stablehlo.ceil %y : tensor<4xf32>
  %floor = stablehlo.floor %x : tensor<4xf32>
  %even = stablehlo.round_nearest_even %x : tensor<4xf32>
  %sign = stablehlo.sign %x : tensor<4xf32>
  %finite = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  return %ceil, %floor, %even, %sign, %finite : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// BINARY: out0 = [-3.5, 2.5, nan]
// BINARY: out1 = [-7.5, 1.5, nan]
// BINARY: out2 = [-11, 1, nan]
// BINARY: out3 = [-2.75, 4, nan]
// BINARY: out4 = [2, 2, nan]
// BINARY: out5 = [-5.5, 0.5, nan]
// BINARY: out6 = [-1.5, 0, nan]
// BINARY: out7 = [30.25, 1.41421356, nan]
func.func @binary() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = stablehlo.constant dense<[-5.5, 2.0, 0x7FC00000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[2.0, 0.5, 1.0]> : tensor<3xf32>
  %add = stablehlo.add %a, %b : tensor<3xf32>
  %sub = stablehlo.subtract %a, %b : tensor<3xf32>
  %mul = stablehlo.multiply %a, %b : tensor<3xf32>
  %div = stablehlo.divide %a, %b : tensor<3xf32>
  %max = stablehlo.maximum %a, %b : tensor<3xf32>
  %min = stablehlo.minimum %b, %a : tensor<3xf32>
  %rem = stablehlo.remainder %a, %b : tensor<3xf32>
  %pow = stablehlo.power %a, %b : tensor<3xf32>
  return %add, %sub, %mul, %div, %max, %min, %rem, %pow : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Integers wrap to their width; unsigned ones compare and divide as such.
// INTEGERS: out0 = [-128, -7, 3]
// INTEGERS: out1 = [127, -3, 0]
// INTEGERS: out2 = [0, -1, 1]
// INTEGERS: out3 = [85, 124, 1]
// INTEGERS: out4 = [255, 249, 2]
func.func @integers() -> (tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xui8>, tensor<3xui8>) {
  %a = stablehlo.constant dense<[127, -9, 1]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi8>
  %sum = stablehlo.add %a, %b : tensor<3xi8>
  %c = stablehlo.constant dense<[127, -7, 1]> : tensor<3xi8>
  %quotient = stablehlo.divide %c, %b : tensor<3xi8>
  %rest = stablehlo.remainder %c, %b : tensor<3xi8>
  %u = stablehlo.constant dense<[255, 249, 2]> : tensor<3xui8>
  %v = stablehlo.constant dense<[3, 2, 2]> : tensor<3xui8>
  %unsigned = stablehlo.divide %u, %v : tensor<3xui8>
  %max = stablehlo.maximum %u, %v : tensor<3xui8>
  return %sum, %quotient, %rest, %unsigned, %max : tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xui8>, tensor<3xui8>
}

// SHIFTS: out0 = [-16, 0]
// SHIFTS: out1 = [-4, -1]
// SHIFTS: out2 = [124, 0]
// SHIFTS: out3 = [7, 0]
func.func @shifts() -> (tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>) {
  %a = stablehlo.constant dense<[-8, -1]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, 8]> : tensor<2xi8>
  %left = stablehlo.shift_left %a, %b : tensor<2xi8>
  %arithmetic = stablehlo.shift_right_arithmetic %a, %b : tensor<2xi8>
  %logical = stablehlo.shift_right_logical %a, %b : tensor<2xi8>
  %not = stablehlo.not %a : tensor<2xi8>
  return %left, %arithmetic, %logical, %not : tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>
}

// BOOLEANS: out0 = [false, false, true]
// BOOLEANS: out1 = [false, true, true]
// BOOLEANS: out2 = [false, true, false]
// BOOLEANS: out3 = [true, true, false]
// BOOLEANS: out4 = [false, true, true]
func.func @booleans() -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>) {
  %a = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %and = stablehlo.and %a, %b : tensor<3xi1>
  %or = stablehlo.or %a, %b : tensor<3xi1>
  %xor = stablehlo.xor %a, %b : tensor<3xi1>
  %not = stablehlo.not %a : tensor<3xi1>
  %sum = stablehlo.add %a, %b : tensor<3xi1>
  return %and, %or, %xor, %not, %sum : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
}

// COMPARISONS: out0 = [true, false, false, false]
// COMPARISONS: out1 = [true, false, true, true]
// COMPARISONS: out2 = [true, true, false, true]
// COMPARISONS: out3 = [true, false]
// COMPARISONS: out4 = [false, true]
func.func @comparisons() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>) {
  %a = stablehlo.constant dense<[1.0, -0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %b = stablehlo.constant dense<[2.0, 0.0, 1.0, 1.0]> : tensor<4xf32>
  %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %c = stablehlo.constant dense<[2.0, 0.0, 1.0, 0x7FC00000]> : tensor<4xf32>
  %different = stablehlo.compare NE, %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %total = stablehlo.compare LE, %a, %c, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %i = stablehlo.constant dense<[-1, 1]> : tensor<2xi32>
  %j = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %signed = stablehlo.compare LT, %i, %j, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %u = stablehlo.constant dense<[4294967295, 1]> : tensor<2xui32>
  %v = stablehlo.constant dense<[0, 1]> : tensor<2xui32>
  %unsigned = stablehlo.compare LE, %u, %v, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  return %less, %different, %total, %signed, %unsigned : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>
}

// CONVERSIONS: out0 = [-2, 0, 127, 0]
// CONVERSIONS: out1 = [true, true, true, true]
// CONVERSIONS: out2 = [1, 0]
// CONVERSIONS: out3 = [255, 44]
func.func @conversions() -> (tensor<4xi8>, tensor<4xi1>, tensor<2xf32>, tensor<2xui8>) {
  %x = stablehlo.constant dense<[-2.75, 0.5, 1000.0, 0x7FC00000]> : tensor<4xf32>
  %integer = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  %boolean = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %real = stablehlo.convert %p : (tensor<2xi1>) -> tensor<2xf32>
  %i = stablehlo.constant dense<[-1, 300]> : tensor<2xi32>
  %narrow = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xui8>
  return %integer, %boolean, %real, %narrow : tensor<4xi8>, tensor<4xi1>, tensor<2xf32>, tensor<2xui8>
}

// CHOICES: out0 = [1, -2, 3]
// CHOICES: out1 = [1, 2, 3]
// CHOICES: out2 = [0, 2, 2]
func.func @choices() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = stablehlo.negate %a : tensor<3xf32>
  %0 = stablehlo.select %p, %a, %b : tensor<3xi1>, tensor<3xf32>
  %1 = stablehlo.select %true, %a, %b : tensor<i1>, tensor<3xf32>
  %low = stablehlo.constant dense<0.0> : tensor<f32>
  %high = stablehlo.constant dense<2.0> : tensor<f32>
  %x = stablehlo.constant dense<[-1.0, 2.0, 3.0]> : tensor<3xf32>
  %2 = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// ERF: out0 = [0.520499878, -0.842700793]
// ERF: out1 = [0.479500122, 1.84270079]
// ERF: out2 = [0.25, 1]
func.func @error_function() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %erf = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  %erfc = chlo.erfc %x : tensor<2xf32> -> tensor<2xf32>
  %square = chlo.square %x : tensor<2xf32> -> tensor<2xf32>
  return %erf, %erfc, %square : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
