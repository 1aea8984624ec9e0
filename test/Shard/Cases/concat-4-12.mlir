// Cut vectors of 4 and of 12 are joined; each is there once, whatever other axes
// the mesh has.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: pmcheck run %t.mlir --partitioned --print --function=values | FileCheck %s --check-prefix=VALUES
// VALUES: out0 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]

pm.mesh @mesh = [<"data", spatial = 4>, <"model", spatial = 2>]

func.func @main(%a: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"data"}]>},
                %b: tensor<12xf32> {pm.sharding = #pm.sharding<@mesh, [{"data"}]>}) -> tensor<16xf32> {
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<12xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

func.func @values() -> tensor<16xf32> {
  %x = stablehlo.constant dense<1.0> : tensor<4xf32>
  %y = stablehlo.constant dense<1.0> : tensor<12xf32>
  %a = pm.constrain %x to <@mesh, [{"data"}]> : tensor<4xf32>
  %b = pm.constrain %y to <@mesh, [{"data"}]> : tensor<12xf32>
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<12xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
