// Conversion, comparison and choice.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @convert(
// CHECK: stablehlo.convert %{{[^ ,)]+}} : (tensor<4xi1>) -> tensor<4xf32>
// CHECK: stablehlo.convert %{{[^ ,)]+}} : tensor<f32>
func.func @convert(%x: tensor<4xi1>, %y: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = stablehlo.convert %x : (tensor<4xi1>) -> tensor<4xf32>
  %1 = stablehlo.convert %y : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @is_finite(
// CHECK: stablehlo.is_finite %{{[^ ,)]+}} : (tensor<4xbf16>) -> tensor<4xi1>
func.func @is_finite(%x: tensor<4xbf16>) -> tensor<4xi1> {
  %0 = stablehlo.is_finite %x : (tensor<4xbf16>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @compare(
// CHECK: stablehlo.compare LT, %{{[^ ,)]+}}, %{{[^ ,)]+}}, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
// CHECK: stablehlo.compare GE, %{{[^ ,)]+}}, %{{[^ ,)]+}}, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
// CHECK: stablehlo.compare EQ, %{{[^ ,)]+}}, %{{[^ ,)]+}}, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
// CHECK: stablehlo.compare NE, %{{[^ ,)]+}}, %{{[^ ,)]+}}, UNSIGNED : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
// CHECK: stablehlo.compare GT, %{{[^ ,)]+}}, %{{[^ ,)]+}}, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
// CHECK: stablehlo.compare LE, %{{[^ ,)]+}}, %{{[^ ,)]+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
func.func @compare(%a: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui32>, %p: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.compare LT, %a, %a, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.compare GE, %a, %a, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.compare EQ, %i, %i, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %3 = stablehlo.compare NE, %u, %u, UNSIGNED : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  %4 = stablehlo.compare GT, %p, %p, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %5 = stablehlo.compare LE, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @select(
// CHECK: stablehlo.select %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xi1>, tensor<4xf32>
// CHECK: stablehlo.select %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i1>, tensor<4xf32>
func.func @select(%p: tensor<4xi1>, %q: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
  %1 = stablehlo.select %q, %a, %b : tensor<i1>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp(
// CHECK: stablehlo.clamp %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK: stablehlo.clamp %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4xf32>
func.func @clamp(%low: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.clamp %low, %x, %low : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.clamp %x, %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
