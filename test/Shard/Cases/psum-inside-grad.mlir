// Gradients of each sample with respect to a value that all ranks have are no sum
// over ranks: that of the sample is the sample, on any number of ranks. Where the
// value is one for all samples, its gradient is their sum.
// RUN: sed s/RANKS/1/ %s > %t.1.mlir
// RUN: sed s/RANKS/2/ %s > %t.2.mlir
// RUN: sed s/RANKS/4/ %s > %t.4.mlir
// RUN: pmopt %t.1.mlir --pm-differentiate --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.one.mlir
// RUN: pmopt %t.2.mlir --pm-differentiate --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.two.mlir
// RUN: pmopt %t.4.mlir --pm-differentiate --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.four.mlir
// RUN: pmcheck run %t.one.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// RUN: pmcheck run %t.two.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// RUN: pmcheck run %t.four.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// VALUES: gradient p = [16, 20]
// VALUES: gradient each = {{\[\[}}1, 2], [3, 4], [5, 6], [7, 8]]

pm.mesh @mesh = [<"x", spatial = RANKS>]

func.func @main(%p: tensor<2xf32> {pm.state = #pm.state<parameter, "p">, pm.sharding = #pm.sharding<@mesh, [{}]>},
                %each: tensor<4x2xf32> {pm.state = #pm.state<parameter, "each">, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %x = pm.constrain %c to <@mesh, [{"x"}, {}]> : tensor<4x2xf32>
  %all = stablehlo.broadcast_in_dim %p, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %weights = stablehlo.add %all, %each : tensor<4x2xf32>
  %terms = stablehlo.multiply %weights, %x : tensor<4x2xf32>
  %loss = stablehlo.reduce(%terms init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
