// Ops that mix elements along dimensions, as JAX prints them.
// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK-LABEL: func.func @dot_general(
// CHECK: stablehlo.dot_general %{{[^ ,)]+}}, %{{[^ ,)]+}}, contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<8x20x64xf32>, tensor<256x64xf32>) -> tensor<8x20x256xf32>
// CHECK: stablehlo.dot_general %{{[^ ,)]+}}, %{{[^ ,)]+}}, contracting_dims = [2] x [1] : (tensor<8x20x64xf32>, tensor<256x64xf32>) -> tensor<8x20x256xf32>
func.func @dot_general(%x: tensor<8x20x64xf32>, %w: tensor<256x64xf32>) -> tensor<8x20x256xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<8x20x64xf32>, tensor<256x64xf32>) -> tensor<8x20x256xf32>
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [1] : (tensor<8x20x64xf32>, tensor<256x64xf32>) -> tensor<8x20x256xf32>
  return %0 : tensor<8x20x256xf32>
}

// CHECK-LABEL: func.func @dot_general_batched(
// CHECK: stablehlo.dot_general %{{[^ ,)]+}}, %{{[^ ,)]+}}, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xbf16>, tensor<8x7x64xbf16>) -> tensor<8x5x7xf32>
func.func @dot_general_batched(%q: tensor<8x5x64xbf16>, %k: tensor<8x7x64xbf16>) -> tensor<8x5x7xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x5x64xbf16>, tensor<8x7x64xbf16>) -> tensor<8x5x7xf32>
  return %0 : tensor<8x5x7xf32>
}

// CHECK-LABEL: func.func @dot_general_outer(
// CHECK: stablehlo.dot_general %{{[^ ,)]+}}, %{{[^ ,)]+}}, contracting_dims = [] x [] : (tensor<4xf32>, tensor<5xf32>) -> tensor<4x5xf32>
func.func @dot_general_outer(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<4xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @dot_general_algorithm(
// CHECK: stablehlo.dot_general %{{[^ ,)]+}}, %{{[^ ,)]+}}, contracting_dims = [0] x [0], precision = [HIGH, HIGH], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
func.func @dot_general_algorithm(%a: tensor<4xf32>) -> tensor<f32> {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [HIGH, HIGH], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @reduce(
// CHECK: stablehlo.reduce(%{{[^ ,)]+}} init: %{{[^ ,)]+}}) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK: stablehlo.reduce(%{{[^ ,)]+}} init: %{{[^ ,)]+}}) applies stablehlo.maximum across dimensions = [] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8x10xf32>
func.func @reduce(%x: tensor<8x10xf32>, %zero: tensor<f32>) -> tensor<8xf32> {
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8x10xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @reduce_promoted(
// CHECK: stablehlo.reduce(%{{[^ ,)]+}} init: %{{[^ ,)]+}}) applies stablehlo.add across dimensions = [1] : (tensor<8x10xbf16>, tensor<bf16>) -> tensor<8xf32>
func.func @reduce_promoted(%x: tensor<8x10xbf16>, %zero: tensor<bf16>) -> tensor<8xf32> {
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x10xbf16>, tensor<bf16>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @reduce_other_body(
// CHECK: stablehlo.reduce(%{{[^ ,)]+}} init: %{{[^ ,)]+}}) across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK: reducer(%{{[^ ,)]+}}: tensor<f32>, %{{[^ ,)]+}}: tensor<f32>) {
// CHECK: stablehlo.subtract %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<f32>
// CHECK: stablehlo.return %{{[^ ,)]+}} : tensor<f32>
func.func @reduce_other_body(%x: tensor<8x10xf32>, %zero: tensor<f32>) -> tensor<8xf32> {
  %0 = stablehlo.reduce(%x init: %zero) across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @reduce_pairs(
// CHECK: stablehlo.reduce(%{{[^ ,)]+}} init: %{{[^ ,)]+}}), (%{{[^ ,)]+}} init: %{{[^ ,)]+}}) across dimensions = [1] : (tensor<8x10xf32>, tensor<8x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
// CHECK: reducer(%{{[^ ,)]+}}: tensor<f32>, %{{[^ ,)]+}}: tensor<f32>) (%{{[^ ,)]+}}: tensor<i32>, %{{[^ ,)]+}}: tensor<i32>) {
// CHECK: stablehlo.compare GT, %{{[^ ,)]+}}, %{{[^ ,)]+}}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.select %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i1>, tensor<f32>
// CHECK: stablehlo.select %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<i1>, tensor<i32>
// CHECK: stablehlo.return %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<f32>, tensor<i32>
func.func @reduce_pairs(%x: tensor<8x10xf32>, %i: tensor<8x10xi32>, %zero: tensor<f32>, %c: tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0:2 = stablehlo.reduce(%x init: %zero), (%i init: %c) across dimensions = [1] : (tensor<8x10xf32>, tensor<8x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<i32>, %e: tensor<i32>) {
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %d, %e : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}
