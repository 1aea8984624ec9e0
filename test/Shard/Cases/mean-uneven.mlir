// The mean of three rows over two ranks, and of one row, which leaves a rank
// without any.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = 5.5
// VALUES: out1 = 1.5

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%a: tensor<3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<1x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %twelve = stablehlo.constant dense<12.0> : tensor<f32>
  %four = stablehlo.constant dense<4.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.divide %0, %twelve : tensor<f32>
  %2 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.divide %2, %four : tensor<f32>
  return %1, %3 : tensor<f32>, tensor<f32>
}

func.func @values() -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %twelve = stablehlo.constant dense<12.0> : tensor<f32>
  %four = stablehlo.constant dense<4.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<12xf32>
  %j = stablehlo.reshape %i : (tensor<12xf32>) -> tensor<3x4xf32>
  %a = pm.constrain %j to <@mesh, [{"x"}, {}]> : tensor<3x4xf32>
  %k = stablehlo.iota dim = 1 : tensor<1x4xf32>
  %b = pm.constrain %k to <@mesh, [{"x"}, {}]> : tensor<1x4xf32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.divide %0, %twelve : tensor<f32>
  %2 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.divide %2, %four : tensor<f32>
  return %1, %3 : tensor<f32>, tensor<f32>
}
