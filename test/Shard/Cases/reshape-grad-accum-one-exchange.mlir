// A batch that is split into steps of a loop: at most one exchange in front of the loop.
// Each rank sends two halves of its block, in two parts of a permute.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --partitioned=b
// RUN: FileCheck %s < %t.mlir
pm.mesh @mesh = [<"d", spatial = 4>]

// CHECK-LABEL: func.func @main
// CHECK: pm.collective_permute {{.*}} sources [{{.*}}] {{.*}}<2x1x1x16xf32>
// CHECK-NOT: pm.{{all_gather|all_to_all|collective_permute}}
// CHECK: stablehlo.while
func.func @main(%x: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<4x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"d"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %r = stablehlo.reshape %x : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %y = pm.constrain %r to <@mesh, [{}, {"d"}, {}]> : tensor<2x4x16xf32>
  %l:2 = stablehlo.while(%i = %zero, %sum = %start) : tensor<i32>, tensor<4x16xf32>
  cond {
    %more = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %part = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<2x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %step = stablehlo.reshape %part : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %wave = stablehlo.tanh %step : tensor<4x16xf32>
    %next = stablehlo.add %sum, %wave : tensor<4x16xf32>
    %after = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %after, %next : tensor<i32>, tensor<4x16xf32>
  }
  return %l#1 : tensor<4x16xf32>
}
