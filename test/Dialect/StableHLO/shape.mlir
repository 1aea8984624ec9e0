// Ops that make or move elements, as JAX prints them.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @constant(
// CHECK: stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: stablehlo.constant dense<[1, 2]> : tensor<2xi32>
// CHECK: stablehlo.constant dense<true> : tensor<3xi1>
// CHECK: stablehlo.constant dense<> : tensor<0x3xf32>
func.func @constant() -> tensor<f32> {
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %2 = stablehlo.constant dense<true> : tensor<3xi1>
  %3 = stablehlo.constant dense<> : tensor<0x3xf32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @iota(
// CHECK: stablehlo.iota dim = 1 : tensor<2x8xi32>
func.func @iota() -> tensor<2x8xi32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x8xi32>
  return %0 : tensor<2x8xi32>
}

// CHECK-LABEL: func.func @broadcast_in_dim(
// CHECK: stablehlo.broadcast_in_dim %{{[^ ,)]+}}, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3x4xf32>
// CHECK: stablehlo.broadcast_in_dim %{{[^ ,)]+}}, dims = [] : (tensor<f32>) -> tensor<2x3x4xf32>
func.func @broadcast_in_dim(%x: tensor<1x3xf32>, %s: tensor<f32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: stablehlo.reshape %{{[^ ,)]+}} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<4x2x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @bitcast_convert(
// CHECK: stablehlo.bitcast_convert %{{[^ ,)]+}} : (tensor<4xf32>) -> tensor<4xui32>
// CHECK: stablehlo.bitcast_convert %{{[^ ,)]+}} : (tensor<4xf32>) -> tensor<4x2xi16>
// CHECK: stablehlo.bitcast_convert %{{[^ ,)]+}} : (tensor<3x4xui8>) -> tensor<3xui32>
func.func @bitcast_convert(%x: tensor<4xf32>, %y: tensor<3x4xui8>) -> tensor<4xui32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  %1 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xi16>
  %2 = stablehlo.bitcast_convert %y : (tensor<3x4xui8>) -> tensor<3xui32>
  return %0 : tensor<4xui32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: stablehlo.transpose %{{[^ ,)]+}}, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @reverse(
// CHECK: stablehlo.reverse %{{[^ ,)]+}}, dims = [1, 0] : tensor<2x3xf32>
func.func @reverse(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.reverse %x, dims = [1, 0] : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @concatenate(
// CHECK: stablehlo.concatenate %{{[^ ,)]+}}, %{{[^ ,)]+}}, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK: stablehlo.concatenate %{{[^ ,)]+}}, dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @concatenate(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.concatenate %a, dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @pad(
// CHECK: stablehlo.pad %{{[^ ,)]+}}, %{{[^ ,)]+}}, low = [2, -1], high = [0, -1], interior = [1, 0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<7x3xf32>
func.func @pad(%x: tensor<3x5xf32>, %zero: tensor<f32>) -> tensor<7x3xf32> {
  %0 = stablehlo.pad %x, %zero, low = [2, -1], high = [0, -1], interior = [1, 0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK: stablehlo.slice %{{[^ ,)]+}} [2:6, 0:6:3] : (tensor<8x6xf32>) -> tensor<4x2xf32>
// CHECK: stablehlo.slice %{{[^ ,)]+}} [0:8, 6:6] : (tensor<8x6xf32>) -> tensor<8x0xf32>
// CHECK: stablehlo.slice %{{[^ ,)]+}} [] : (tensor<f32>) -> tensor<f32>
func.func @slice(%x: tensor<8x6xf32>, %s: tensor<f32>) -> tensor<4x2xf32> {
  %0 = stablehlo.slice %x [2:6, 0:6:3] : (tensor<8x6xf32>) -> tensor<4x2xf32>
  %1 = stablehlo.slice %x [0:8, 6:6] : (tensor<8x6xf32>) -> tensor<8x0xf32>
  %2 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @dynamic_slice(
// CHECK: stablehlo.dynamic_slice %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}, sizes = [1, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
// CHECK: stablehlo.dynamic_slice %{{[^ ,)]+}}, sizes = [] : (tensor<f32>) -> tensor<f32>
func.func @dynamic_slice(%x: tensor<8x6xf32>, %i: tensor<i32>, %s: tensor<f32>) -> tensor<1x6xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %1 = stablehlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<1x6xf32>
}

// CHECK-LABEL: func.func @dynamic_update_slice(
// CHECK: stablehlo.dynamic_update_slice %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : (tensor<8x6xf32>, tensor<1x6xf32>, tensor<ui64>, tensor<ui64>) -> tensor<8x6xf32>
func.func @dynamic_update_slice(%x: tensor<8x6xf32>, %u: tensor<1x6xf32>, %i: tensor<ui64>) -> tensor<8x6xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<8x6xf32>, tensor<1x6xf32>, tensor<ui64>, tensor<ui64>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// CHECK-LABEL: func.func @optimization_barrier(
// CHECK: stablehlo.optimization_barrier %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<2xf32>, tensor<i32>
func.func @optimization_barrier(%a: tensor<2xf32>, %b: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<2xf32>, tensor<i32>
  return %0#0, %0#1 : tensor<2xf32>, tensor<i32>
}
