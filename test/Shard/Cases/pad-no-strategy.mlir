// Twelve elements in front of six that are cut over four ranks: the blocks of the
// operand and those of the result lie elsewhere.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 4>]

func.func @main(%x: tensor<2x4x6xf16> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"x"}]>}, %v: tensor<f16>)
    -> (tensor<2x4x18xf16> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %0 = stablehlo.pad %x, %v, low = [0, 0, 12], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x4x6xf16>, tensor<f16>) -> tensor<2x4x18xf16>
  return %0 : tensor<2x4x18xf16>
}
