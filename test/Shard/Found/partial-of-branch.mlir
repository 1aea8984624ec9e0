// A branch hands out a partial value, whose use cuts it over the same axis. Found by
// pmcheck random.
// RUN: pmopt %s --pm-refine-mesh --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir && pmcheck equiv %s %t.mlir --partitioned=b
pm.mesh @mesh = [<"x", spatial = 8>]
func.func @main(%a: tensor<2x2xf32>, %i: tensor<i32>) -> tensor<2x2xf32> {
  %0 = pm.constrain %a to <@mesh, [{}, {}], partial = sum{"x"}> : tensor<2x2xf32>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %0 : tensor<2x2xf32>
  }) : (tensor<i32>) -> tensor<2x2xf32>
  %2 = pm.constrain %1 to <@mesh, [{"x"}, {}]> : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
