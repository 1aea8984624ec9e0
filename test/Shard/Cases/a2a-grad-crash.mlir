// A cut that moves from rows to columns is one all-to-all and changes no value; the
// gradient through it is one everywhere.
// RUN: pmopt %s --pm-differentiate --pm-propagate --pm-verify-sharded -o %t.sharded.mlir
// RUN: pmopt %t.sharded.mlir --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %t.sharded.mlir %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print | FileCheck %s --check-prefix=VALUES
// RUN: FileCheck %s < %t.mlir
// VALUES: gradient a = {{\[\[}}1, 1, 1, 1, 1, 1, 1, 1],
// VALUES-NOT: gradient a ={{.*}} 0
// CHECK: pm.all_to_all {{.*}} : (tensor<2x8xf32>) -> tensor<8x2xf32>

pm.mesh @mesh = [<"x", spatial = 4>]

func.func @main(%a: tensor<8x8xf32> {pm.state = #pm.state<parameter, "a">, pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<f32> {pm.output = "loss"}, tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>, pm.output = "y"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.negate %a : tensor<8x8xf32>
  %c = pm.constrain %b to <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %d = pm.constrain %c to <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %y = stablehlo.negate %d : tensor<8x8xf32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %loss, %y : tensor<f32>, tensor<8x8xf32>
}
