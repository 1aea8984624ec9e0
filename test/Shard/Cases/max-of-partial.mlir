// The maximum of a sum over ranks is taken behind the sum: of [3, 5] and [4, -3]
// it is 7, and not the sum of the maxima or the maximum of the parts.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// RUN: FileCheck %s < %t.mlir
// VALUES: out0 = 7
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.dot_general
// CHECK: pm.{{all_reduce sum|reduce_scatter .* sum}}
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.maximum

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%a: tensor<2x2xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<2x1xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x1xf32>, tensor<f32>) -> tensor<f32>
  return %m : tensor<f32>
}

func.func @values() -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<[[3.0, 4.0], [5.0, -3.0]]> : tensor<2x2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2x1xf32>
  %a = pm.constrain %c to <@mesh, [{}, {"x"}]> : tensor<2x2xf32>
  %b = pm.constrain %one to <@mesh, [{"x"}, {}]> : tensor<2x1xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x1xf32>, tensor<f32>) -> tensor<f32>
  return %m : tensor<f32>
}
