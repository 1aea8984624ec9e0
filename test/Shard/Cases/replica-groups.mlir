// Columns, then rows, over four ranks: one all-reduce of all four.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// RUN: FileCheck %s < %t.mlir
// VALUES: out0 = {{\[\[}}64, 64, 64, 64, 64, 64, 64, 64], [64, 64, 64, 64, 64, 64, 64, 64], [64, 64, 64, 64, 64, 64, 64, 64], [64, 64, 64, 64, 64, 64, 64, 64]]

pm.mesh @mesh = [<"x", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.{{all_gather|all_to_all|reduce_scatter}}
// CHECK: pm.all_reduce sum({{.*}}) over ["x"]
// CHECK-NOT: pm.{{all_|reduce_scatter}}
// CHECK: return
func.func @main(%a: tensor<4x2xf32>,
                %b: tensor<2x32xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
                %d: tensor<32x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xf32> {
  %m = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x32xf32>) -> tensor<4x32xf32>
  %c = stablehlo.dot_general %m, %d, contracting_dims = [1] x [0] : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

func.func @values() -> tensor<4x8xf32> {
  %a = stablehlo.constant dense<1.0> : tensor<4x2xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<2x32xf32>
  %more = stablehlo.constant dense<1.0> : tensor<32x8xf32>
  %b = pm.constrain %ones to <@mesh, [{}, {"x"}]> : tensor<2x32xf32>
  %d = pm.constrain %more to <@mesh, [{"x"}, {}]> : tensor<32x8xf32>
  %m = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x32xf32>) -> tensor<4x32xf32>
  %c = stablehlo.dot_general %m, %d, contracting_dims = [1] x [0] : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}
