// What is reversed is wanted in longer blocks than any rank has made. Found by
// pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>, <"z", spatial = 2>]
func.func @main(%a: tensor<2x4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}p0, {}, {}]>}) -> (tensor<2x4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {"x"}b4, {"z"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0, 2] : tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}
