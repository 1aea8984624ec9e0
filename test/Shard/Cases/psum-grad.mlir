// The gradient of a sum over ranks with respect to a value that all ranks have:
// 2 w (0 + 1) once, and neither once for each rank nor for one of them.
// RUN: pmopt %s --pm-differentiate --pm-propagate --pm-verify-sharded -o %t.sharded.mlir
// RUN: pmopt %t.sharded.mlir --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %t.sharded.mlir %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// VALUES: loss = 2
// VALUES: gradient w = 2

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%p: tensor<f32> {pm.state = #pm.state<parameter, "w">, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  // The parameter's value is drawn: w is 1, with a slope of 1, since rounding
  // down has none.
  %many = stablehlo.constant dense<1099511627776.0> : tensor<f32>
  %scaled = stablehlo.multiply %p, %many : tensor<f32>
  %rounded = stablehlo.floor %scaled : tensor<f32>
  %same = stablehlo.divide %rounded, %many : tensor<f32>
  %drop = stablehlo.subtract %p, %same : tensor<f32>
  %w = stablehlo.add %drop, %one : tensor<f32>
  %c = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %d = pm.constrain %c to <@mesh, [{"x"}]> : tensor<2xf32>
  %square = stablehlo.multiply %w, %w : tensor<f32>
  %more = stablehlo.add %square, %one : tensor<f32>
  %all = stablehlo.broadcast_in_dim %more, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %terms = stablehlo.multiply %all, %d : tensor<2xf32>
  %loss = stablehlo.reduce(%terms init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
