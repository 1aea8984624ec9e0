// RUN: pmopt %s --pass-pipeline='builtin.module(func.func(pm-fuse-epilogues))' | FileCheck %s

// CHECK-LABEL: func.func @bias
// CHECK-NOT: stablehlo
// CHECK: %[[Y:.*]] = pmrt.product %arg0, %arg1 bias %arg2 contracting [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @bias(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %z = stablehlo.add %y, %r : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// A kernel that goes on adds the bias on its way.
// CHECK-LABEL: func.func @bias_of_a_kernel
// CHECK-NOT: pmrt.product
func.func @bias_of_a_kernel(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %z = stablehlo.add %y, %r : tensor<4x8xf32>
  %e = stablehlo.exponential %z : tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// A column is no bias.
// CHECK-LABEL: func.func @column
// CHECK-NOT: pmrt.product
func.func @column(%x: tensor<8x3xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %z = stablehlo.add %r, %y : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// The sum is kept where the gradient needs it; the order of factors does not matter,
// and views do not either.
// CHECK-LABEL: func.func @gelu
// CHECK: %[[G:.*]], %[[Z:.*]] = pmrt.product %arg0, %arg1 bias %arg2 gelu contracting [2] x [0] : (tensor<2x4x3xf32>, tensor<3x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
// CHECK-NOT: tanh
// CHECK: %[[F:.*]] = stablehlo.reshape %[[G]] : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
// CHECK: stablehlo.dot_general %[[F]]
// CHECK: return %{{.*}}, %{{.*}} : tensor<8x3xf32>, tensor<8x8xf32>
func.func @gelu(%x: tensor<2x4x3xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>, %w2: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x8xf32>) {
  %half = stablehlo.constant dense<0.5> : tensor<8x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %c = stablehlo.constant dense<0.797884583> : tensor<8x8xf32>
  %d = stablehlo.constant dense<4.471500e-02> : tensor<8x8xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x4x3xf32>, tensor<3x8xf32>) -> tensor<2x4x8xf32>
  %f = stablehlo.reshape %y : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %z = stablehlo.add %r, %f : tensor<8x8xf32>
  %z2 = stablehlo.multiply %z, %z : tensor<8x8xf32>
  %z3 = stablehlo.multiply %z, %z2 : tensor<8x8xf32>
  %s = stablehlo.multiply %d, %z3 : tensor<8x8xf32>
  %i = stablehlo.add %s, %z : tensor<8x8xf32>
  %j = stablehlo.multiply %i, %c : tensor<8x8xf32>
  %t = stablehlo.tanh %j : tensor<8x8xf32>
  %u = stablehlo.add %one, %t : tensor<8x8xf32>
  %h = stablehlo.multiply %half, %u : tensor<8x8xf32>
  %g = stablehlo.multiply %z, %h : tensor<8x8xf32>
  %o = stablehlo.dot_general %g, %w2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return %o, %z : tensor<8x3xf32>, tensor<8x8xf32>
}

// Another constant is another function.
// CHECK-LABEL: func.func @no_gelu
// CHECK-NOT: gelu
// CHECK: stablehlo.tanh
func.func @no_gelu(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %c = stablehlo.constant dense<0.8> : tensor<4x8xf32>
  %d = stablehlo.constant dense<4.471500e-02> : tensor<4x8xf32>
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %z2 = stablehlo.multiply %z, %z : tensor<4x8xf32>
  %z3 = stablehlo.multiply %z, %z2 : tensor<4x8xf32>
  %s = stablehlo.multiply %d, %z3 : tensor<4x8xf32>
  %i = stablehlo.add %s, %z : tensor<4x8xf32>
  %j = stablehlo.multiply %i, %c : tensor<4x8xf32>
  %t = stablehlo.tanh %j : tensor<4x8xf32>
  %u = stablehlo.add %one, %t : tensor<4x8xf32>
  %h = stablehlo.multiply %half, %u : tensor<4x8xf32>
  %g = stablehlo.multiply %z, %h : tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// Rows of seven are not aligned as the library wants of what it keeps: the bias alone.
// CHECK-LABEL: func.func @unaligned
// CHECK: pmrt.product %arg0, %arg1 gelu contracting [1] x [0] : (tensor<4x8xf32>, tensor<8x7xf32>) -> tensor<4x7xf32>
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.tanh
// CHECK: return
func.func @unaligned(%x: tensor<4x8xf32>, %w: tensor<8x7xf32>) -> (tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>) {
  %half = stablehlo.constant dense<0.5> : tensor<4x7xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4x7xf32>
  %c = stablehlo.constant dense<0.797884583> : tensor<4x7xf32>
  %d = stablehlo.constant dense<4.471500e-02> : tensor<4x7xf32>
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x7xf32>) -> tensor<4x7xf32>
  %z2 = stablehlo.multiply %z, %z : tensor<4x7xf32>
  %z3 = stablehlo.multiply %z, %z2 : tensor<4x7xf32>
  %s = stablehlo.multiply %d, %z3 : tensor<4x7xf32>
  %i = stablehlo.add %s, %z : tensor<4x7xf32>
  %j = stablehlo.multiply %i, %c : tensor<4x7xf32>
  %t = stablehlo.tanh %j : tensor<4x7xf32>
  %u = stablehlo.add %one, %t : tensor<4x7xf32>
  %h = stablehlo.multiply %half, %u : tensor<4x7xf32>
  %g = stablehlo.multiply %z, %h : tensor<4x7xf32>
  %z_1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x7xf32>) -> tensor<4x7xf32>
  %z2_1 = stablehlo.multiply %z_1, %z_1 : tensor<4x7xf32>
  %z3_1 = stablehlo.multiply %z_1, %z2_1 : tensor<4x7xf32>
  %s_1 = stablehlo.multiply %d, %z3_1 : tensor<4x7xf32>
  %i_1 = stablehlo.add %s_1, %z_1 : tensor<4x7xf32>
  %j_1 = stablehlo.multiply %i_1, %c : tensor<4x7xf32>
  %t_1 = stablehlo.tanh %j_1 : tensor<4x7xf32>
  %u_1 = stablehlo.add %one, %t_1 : tensor<4x7xf32>
  %h_1 = stablehlo.multiply %half, %u_1 : tensor<4x7xf32>
  %g_1 = stablehlo.multiply %z_1, %h_1 : tensor<4x7xf32>
  return %g, %g_1, %z_1 : tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>
}
