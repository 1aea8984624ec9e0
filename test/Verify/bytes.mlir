// What a rank sends: each collective as often as it runs, the largest rank.
// RUN: pmcheck bytes %s | FileCheck %s
// CHECK: all_reduce over ["y"]: 3 of 192 bytes, 288 on the wire
// CHECK: collective_permute over ["x"]: 1 of 64 bytes, 64 on the wire
// CHECK: all_gather over ["x"]: 1 of 64 bytes, 64 on the wire
// CHECK: wire bytes per rank: 416
pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 4>]
func.func @main(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = pm.all_reduce sum(%y) over ["y"] on @mesh : tensor<4x4xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4x4xf32>
  }
  %moved = pm.collective_permute %r#1 over ["x"] sources [-1, 0] on @mesh : tensor<4x4xf32>
  %whole = pm.all_gather %moved dim 0 over ["x"] on @mesh : (tensor<4x4xf32>) -> tensor<8x4xf32>
  return %whole : tensor<8x4xf32>
}
