// A constant is added once to a sum over two ranks, and not once on each.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = 55

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%a: tensor<10x1xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ten = stablehlo.constant dense<10.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x1xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.add %0, %ten : tensor<f32>
  return %1 : tensor<f32>
}

func.func @values() -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ten = stablehlo.constant dense<10.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<10x1xf32>
  %a = pm.constrain %i to <@mesh, [{"x"}, {}]> : tensor<10x1xf32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x1xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.add %0, %ten : tensor<f32>
  return %1 : tensor<f32>
}
