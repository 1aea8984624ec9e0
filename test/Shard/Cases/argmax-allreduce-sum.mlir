// The places of the largest logits over four ranks: pairs are gathered and joined
// by the reduction's own body. The logits stay where they are.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"model", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.all_reduce
// CHECK-NOT: tensor<1x32xf32>
// CHECK: stablehlo.reduce
// CHECK: pm.all_gather {{.*}}-> tensor<4
// CHECK: stablehlo.reduce
func.func @main(%x: tensor<1x16xf32>,
                %w: tensor<16x32xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<1xf32>, tensor<1xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x16xf32>, tensor<16x32xf32>) -> tensor<1x32xf32>
  %i = stablehlo.iota dim = 1 : tensor<1x32xi32>
  %r:2 = stablehlo.reduce(%y init: %low), (%i init: %zero) across dimensions = [1] : (tensor<1x32xf32>, tensor<1x32xi32>, tensor<f32>, tensor<i32>) -> (tensor<1xf32>, tensor<1xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %g = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = stablehlo.and %e, %l : tensor<i1>
    %p = stablehlo.or %g, %t : tensor<i1>
    %m = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32>
    %n = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %m, %n : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<1xf32>, tensor<1xi32>
}
