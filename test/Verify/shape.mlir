// The values of ops that make and move elements.
// RUN: pmcheck run %s --print --function=moves | FileCheck %s --check-prefix=MOVES
// RUN: pmcheck run %s --print --function=pads | FileCheck %s --check-prefix=PADS
// RUN: pmcheck run %s --print --function=slices | FileCheck %s --check-prefix=SLICES
// RUN: pmcheck run %s --print --function=bits | FileCheck %s --check-prefix=BITS

// MOVES: out0 = {{\[\[}}0, 1, 2], [0, 1, 2]]
// MOVES: out1 = {{\[\[}}1, 4], [2, 5], [3, 6]]
// MOVES: out2 = {{\[\[}}6, 5, 4], [3, 2, 1]]
// MOVES: out3 = {{\[\[}}1, 2, 3, 0], [4, 5, 6, 0]]
// MOVES: out4 = {{\[\[\[}}1, 1], [2, 2], [3, 3]], {{\[\[}}4, 4], [5, 5], [6, 6]]]
// MOVES: out5 = {{\[\[}}1, 2], [3, 4], [5, 6]]
func.func @moves() -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3x2xf32>, tensor<3x2xf32>) {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %iota = stablehlo.iota dim = 1 : tensor<2x3xf32>
  %transpose = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %reverse = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x1xf32>
  %concatenate = stablehlo.concatenate %x, %zeros, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %column = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %broadcast = stablehlo.broadcast_in_dim %column, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x2xf32>
  %reshape = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %iota, %transpose, %reverse, %concatenate, %broadcast, %reshape : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3x2xf32>, tensor<3x2xf32>
}

// PADS: out0 = [9, 1, 9, 9, 2, 9, 9, 3, 9, 9]
// PADS: out1 = [2]
// PADS: out2 = [9, 2, 9]
// PADS: out3 = {{\[\[}}9, 9, 9], [1, 9, 9]]
func.func @pads() -> (tensor<10xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %nine = stablehlo.constant dense<9.0> : tensor<f32>
  %interior = stablehlo.pad %x, %nine, low = [1], high = [2], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<10xf32>
  %negative = stablehlo.pad %x, %nine, low = [-1], high = [-1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  %both = stablehlo.pad %x, %nine, low = [-1], high = [-1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %one = stablehlo.constant dense<1.0> : tensor<1x1xf32>
  %corner = stablehlo.pad %one, %nine, low = [1, 0], high = [0, 2], interior = [0, 0] : (tensor<1x1xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %interior, %negative, %both, %corner : tensor<10xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// A dynamic start is clamped so that the part lies inside.
// SLICES: out0 = {{\[\[}}4, 6]]
// SLICES: out1 = {{\[\[}}5, 6]]
// SLICES: out2 = {{\[\[}}0, 0, 3], [4, 5, 6]]
// SLICES: out3 = {{\[\[}}1, 2, 3], [4, 0, 0]]
func.func @slices() -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %slice = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %far = stablehlo.constant dense<7> : tensor<i32>
  %before = stablehlo.constant dense<-3> : tensor<i32>
  %dynamic = stablehlo.dynamic_slice %x, %far, %far, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1x2xf32>
  %first = stablehlo.dynamic_update_slice %x, %zeros, %before, %before : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %last = stablehlo.dynamic_update_slice %x, %zeros, %far, %far : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %slice, %dynamic, %first, %last : tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// BITS: out0 = [1065353216, 3221225472]
// BITS: out1 = {{\[\[}}0, 16256], [0, 49152]]
// BITS: out2 = [1, -2]
func.func @bits() -> (tensor<2xui32>, tensor<2x2xui16>, tensor<2xf32>) {
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %word = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xui32>
  %halves = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x2xui16>
  %back = stablehlo.bitcast_convert %halves : (tensor<2x2xui16>) -> tensor<2xf32>
  return %word, %halves, %back : tensor<2xui32>, tensor<2x2xui16>, tensor<2xf32>
}
