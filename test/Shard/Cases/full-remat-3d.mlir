// A cut of two dimensions that moves to the one between them: all-to-alls, of at
// most two shards of 2 KiB, and never the whole value.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"x", spatial = 4>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @main
// CHECK-NOT: pm.all_{{gather|reduce}}
// CHECK-NOT: tensor<16x16x16xf32>{{$}}
// CHECK-COUNT-2: pm.all_to_all
// CHECK-NOT: pm.all_
// CHECK: return
func.func @main(%a: tensor<16x16x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}, {"x"}]>},
                %b: tensor<16x16x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}, {"x"}]>},
                %c: tensor<16x16x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x", "y"}, {}]>})
    -> (tensor<16x16x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x", "y"}, {}]>}) {
  %d = stablehlo.add %a, %b : tensor<16x16x16xf32>
  %e = pm.constrain %d to <@mesh, [{}, {"x", "y"}, {}]> : tensor<16x16x16xf32>
  %f = stablehlo.add %c, %e : tensor<16x16x16xf32>
  return %f : tensor<16x16x16xf32>
}
