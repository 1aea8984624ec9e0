// A start is clamped to the whole operand, also where the result is cut.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = {{\[\[}}2, 3, 4, 5, 6, 7], [10, 11, 12, 13, 14, 15]]

pm.mesh @mesh = [<"x", spatial = 2>]

func.func @main(%a: tensor<2x8xi32>, %start: tensor<i32>) -> (tensor<2x6xi32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %zero, %start, sizes = [2, 6] : (tensor<2x8xi32>, tensor<i32>, tensor<i32>) -> tensor<2x6xi32>
  return %0 : tensor<2x6xi32>
}

func.func @values() -> (tensor<2x6xi32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<7> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<16xi32>
  %a = stablehlo.reshape %i : (tensor<16xi32>) -> tensor<2x8xi32>
  %0 = stablehlo.dynamic_slice %a, %zero, %start, sizes = [2, 6] : (tensor<2x8xi32>, tensor<i32>, tensor<i32>) -> tensor<2x6xi32>
  return %0 : tensor<2x6xi32>
}
