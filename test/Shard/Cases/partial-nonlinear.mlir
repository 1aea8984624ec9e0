// What is not linear waits for the sum over the contraction: squares, GELU and
// absolute values. A factor that all ranks have is linear, and may come before.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck equiv %s %t.mlir --partitioned=b --function=gelu
// RUN: pmcheck equiv %s %t.mlir --partitioned=b --function=absolute
// RUN: pmcheck equiv %s %t.mlir --partitioned=b --function=scaled
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.dot_general
// CHECK-NEXT: pm.{{all_reduce|reduce_scatter}}
// CHECK: stablehlo.multiply
func.func @main(%a: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %z = stablehlo.multiply %y, %y : tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @gelu
// CHECK: stablehlo.dot_general
// CHECK-NEXT: pm.{{all_reduce|reduce_scatter}}
// CHECK: chlo.erf
func.func @gelu(%a: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %e = chlo.erf %y : tensor<4x4xf32> -> tensor<4x4xf32>
  %z = stablehlo.multiply %y, %e : tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @absolute
// CHECK: stablehlo.dot_general
// CHECK-NEXT: pm.{{all_reduce|reduce_scatter}}
// CHECK: stablehlo.abs
func.func @absolute(%a: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %z = stablehlo.abs %y : tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// The sum over the rows that follows makes it cheaper to add late.
// CHECK-LABEL: func.func @scaled
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.multiply
// CHECK: stablehlo.reduce
// CHECK: pm.{{all_reduce|reduce_scatter}}
func.func @scaled(%a: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
                %r: tensor<4x4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %z = stablehlo.multiply %y, %r : tensor<4x4xf32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}
