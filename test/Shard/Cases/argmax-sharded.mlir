// The place of the largest element is one of the whole, not of a rank's block.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = 10
// VALUES: out1 = 0

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%input: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<f32>, tensor<i32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %r:2 = stablehlo.reduce(%input init: %low), (%i init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
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
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}

func.func @values() -> (tensor<f32>, tensor<i32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.constant dense<[10.0, 5.0, 3.0, 8.0]> : tensor<4xf32>
  %input = pm.constrain %x to <@mesh, [{"x"}]> : tensor<4xf32>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %r:2 = stablehlo.reduce(%input init: %low), (%i init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
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
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}
