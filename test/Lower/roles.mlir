// RUN: pmopt %s --split-input-file --pm-lower-to-runtime --pm-verify-runtime | FileCheck %s

// Two stages and three micro-batches in 1f1b. Each role has the fragments, the
// buffers and the kernels of its stage, and both number the channels alike.
pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 2>, <"mb", temporal = 3>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4x8xf32> sharding <@mesh, [{"mb"}, {}]> {role = "x"}
  pm.buffer @w0 state : tensor<8x8xf32> sharding <@mesh, [{}, {}]> {role = "parameter", parameter = "w0"}
  pm.buffer @w1 state : tensor<8x8xf32> sharding <@mesh, [{}, {}]> {role = "parameter", parameter = "w1"}
  pm.buffer @unused state : tensor<4xf32> sharding <@mesh, [{}]> {role = "parameter", parameter = "unused"}
  pm.buffer @h activation : tensor<4x8xf32> sharding <@mesh, [{"mb"}, {}]>
  pm.buffer @dh activation : tensor<4x8xf32> sharding <@mesh, [{"mb"}, {}]>
  pm.buffer @dw0 accumulator : tensor<8x8xf32> sharding <@mesh, [{}, {}], partial = sum{"dp", "mb"}> {role = "gradient", parameter = "w0"}
  pm.buffer @norm1 value : tensor<8x8xf32> sharding <@mesh, [{}, {}]>
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    pm.send @h to 1 micro_batch 0
    pm.action forward stage 0 micro_batch 1
    pm.send @h to 1 micro_batch 1
    pm.receive @dh from 1 micro_batch 0
    pm.action backward stage 0 micro_batch 0
    pm.action forward stage 0 micro_batch 2
    pm.send @h to 1 micro_batch 2
    pm.receive @dh from 1 micro_batch 1
    pm.action backward stage 0 micro_batch 1
    pm.receive @dh from 1 micro_batch 2
    pm.action backward stage 0 micro_batch 2
    pm.action reduce stage 0 micro_batch 0
    pm.receive @norm1 from 1 micro_batch 0
    pm.action update stage 0 micro_batch 0
  }
  pm.role 1 {
    pm.receive @h from 0 micro_batch 0
    pm.action backward stage 1 micro_batch 0
    pm.send @dh to 0 micro_batch 0
    pm.receive @h from 0 micro_batch 1
    pm.action backward stage 1 micro_batch 1
    pm.send @dh to 0 micro_batch 1
    pm.receive @h from 0 micro_batch 2
    pm.action backward stage 1 micro_batch 2
    pm.send @dh to 0 micro_batch 2
    pm.action reduce stage 1 micro_batch 0
    pm.send @norm1 to 0 micro_batch 0
  }
}

// CHECK-LABEL: pmrt.role @role_0
// CHECK-DAG: pmrt.buffer @x offset 0 bytes 128 slots 3 stride 128
// CHECK-DAG: pmrt.buffer @w0
// No role names it: the first keeps it.
// CHECK-DAG: pmrt.buffer @unused
// Stage 0 of two keeps two micro-batches in flight; what it receives is used at
// once.
// CHECK-DAG: pmrt.buffer @h {{.*}} slots 2 stride 128
// CHECK-DAG: pmrt.buffer @dh {{.*}} slots 1 stride 128
// CHECK-DAG: pmrt.buffer @norm1
// CHECK-NOT: @w1
// CHECK: pmrt.body @stage0_forward
// CHECK: pmrt.body @stage0_backward
// The activation is read for the last time: its place may be used.
// CHECK:   pmrt.call @[[K:kernel_[0-9]+]] [#pmrt.place<read @h + 0 : 128>, #pmrt.place<write @h + 0 : 128>]
// CHECK: pmrt.body @stage0_reduce "reduce"
// CHECK:   pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @dw0 + 0 : 256>] : f32
// The update reads the reduced gradient, and may not write over it.
// CHECK: pmrt.body @stage0_update "update"
// CHECK:   pmrt.call @{{.*}} [#pmrt.place<read @dw0 + 0 : 256>, #pmrt.place<write scratch + 0 : 256>]
// CHECK: pmrt.body @zero_accumulators
// CHECK-NEXT: pmrt.zero [#pmrt.place<write @dw0 + 0 : 256>]
// CHECK: pmrt.action @zero_accumulators micro_batch 0
// CHECK: pmrt.action @stage0_forward micro_batch 0
// CHECK: pmrt.send @h to 1 micro_batch 0 channel [[H:[0-9]+]]
// CHECK: pmrt.action @stage0_forward micro_batch 1
// CHECK: pmrt.send @h to 1 micro_batch 1 channel [[H]]
// CHECK: pmrt.receive @dh from 1 micro_batch 0 channel [[DH:[0-9]+]]
// CHECK: pmrt.action @stage0_backward micro_batch 0
// CHECK: pmrt.action @stage0_reduce micro_batch 0
// CHECK: pmrt.receive @norm1 from 1 micro_batch 0 channel [[NORM:[0-9]+]]
// CHECK: pmrt.action @stage0_update micro_batch 0

// CHECK-LABEL: pmrt.role @role_1
// CHECK-NOT: @x
// CHECK-NOT: @w0
// CHECK-DAG: pmrt.buffer @w1
// CHECK-DAG: pmrt.buffer @h {{.*}} slots 1
// CHECK-NOT: @stage0
// CHECK: pmrt.body @stage1_backward
// What was sent before may be written over, here the input of the kernel.
// CHECK:   pmrt.call @[[K]] [#pmrt.place<read @h + 0 : 128>
// CHECK-NOT: zero_accumulators
// CHECK: pmrt.receive @h from 0 micro_batch 0 channel [[H]]
// CHECK: pmrt.send @dh to 0 micro_batch 0 channel [[DH]]
// CHECK: pmrt.send @norm1 to 0 micro_batch 0 channel [[NORM]]
func.func @stage0_forward(%x: tensor<4x8xf32> {pm.buffer = @x}, %w: tensor<8x8xf32> {pm.buffer = @w0})
    -> (tensor<4x8xf32> {pm.buffer = @h}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @stage1_backward(%h: tensor<4x8xf32> {pm.buffer = @h}, %w: tensor<8x8xf32> {pm.buffer = @w1})
    -> (tensor<4x8xf32> {pm.buffer = @dh}) attributes {pm.fragment = #pm.fragment<backward, 1>} {
  %0 = pmrt.fused (%h) in_place [0] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %n = stablehlo.negate %a : tensor<4x8xf32>
    pmrt.yield %n : tensor<4x8xf32>
  }
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
func.func @stage0_backward(%h: tensor<4x8xf32> {pm.buffer = @h}, %dh: tensor<4x8xf32> {pm.buffer = @dh})
    -> (tensor<8x8xf32> {pm.buffer = @dw0}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %0 = pmrt.fused (%h) in_place [0] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %n = stablehlo.negate %a : tensor<4x8xf32>
    pmrt.yield %n : tensor<4x8xf32>
  }
  %1 = stablehlo.dot_general %0, %dh, contracting_dims = [0] x [0] {pmrt.accumulate} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func @stage0_reduce(%g: tensor<8x8xf32> {pm.buffer = @dw0}) -> (tensor<8x8xf32> {pm.buffer = @dw0})
    attributes {pm.fragment = #pm.fragment<reduce, 0>} {
  %0 = pm.all_reduce sum(%g) over ["dp"] on @mesh : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @stage1_reduce(%w: tensor<8x8xf32> {pm.buffer = @w1}) -> (tensor<8x8xf32> {pm.buffer = @norm1})
    attributes {pm.fragment = #pm.fragment<reduce, 1>} {
  %0 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @stage0_update(%g: tensor<8x8xf32> {pm.buffer = @dw0}, %n: tensor<8x8xf32> {pm.buffer = @norm1}, %w: tensor<8x8xf32> {pm.buffer = @w0})
    -> (tensor<8x8xf32> {pm.buffer = @w0}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  %0 = pmrt.fused (%g) in_place [0] : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %n1 = stablehlo.negate %a : tensor<8x8xf32>
    pmrt.yield %n1 : tensor<8x8xf32>
  }
  %1 = stablehlo.dot_general %0, %n, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// What is sent after a run keeps its value until then: here the update reads the
// sum for the last time, but may not write over it.
pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 1>]
pm.program @step on @mesh {
  pm.buffer @sum value : tensor<8xf32> sharding <@mesh, [{}]>
  pm.buffer @out output : tensor<8xf32> sharding <@mesh, [{}]>
  pm.role 0 {
    pm.action update stage 0 micro_batch 0
    pm.send @sum to 1 micro_batch 0
  }
  pm.role 1 {
    pm.receive @sum from 0 micro_batch 0
    pm.action update stage 1 micro_batch 0
  }
}
// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.call @[[K:.*]] [#pmrt.place<read @sum + 0 : 32>, #pmrt.place<write scratch + 0 : 32>]
// CHECK-LABEL: pmrt.role @role_1
// CHECK: pmrt.call @[[K]] [#pmrt.place<read @sum + 0 : 32>, #pmrt.place<write @sum + 0 : 32>]
func.func @stage0_update(%s: tensor<8xf32> {pm.buffer = @sum}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  %0 = pmrt.fused (%s) in_place [0] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %n = stablehlo.negate %a : tensor<8xf32>
    pmrt.yield %n : tensor<8xf32>
  }
  return
}
func.func @stage1_update(%s: tensor<8xf32> {pm.buffer = @sum}) attributes {pm.fragment = #pm.fragment<update, 1>} {
  %0 = pmrt.fused (%s) in_place [0] : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %n = stablehlo.negate %a : tensor<8xf32>
    pmrt.yield %n : tensor<8xf32>
  }
  return
}

// -----

// Collectives along a dimension: blocks of the middle dimension, of which the
// last is short; the reduced sum's block is written where it is returned to.
pm.mesh @mesh = [<"tp", spatial = 3>, <"mb", temporal = 1>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4x3x5xf32> sharding <@mesh, [{}, {}, {}]> {role = "x"}
  pm.buffer @y output : tensor<4x8x5xf32> sharding <@mesh, [{}, {}, {}]> {role = "y"}
  pm.buffer @z output : tensor<2x8x5xf32> sharding <@mesh, [{"tp"}, {}, {}]> {role = "z"}
  pm.role 0 {
    pm.action prologue stage 0 micro_batch 0
  }
}
// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.all_gather over ["tp"] [#pmrt.place<read @x + 0 : 240>, #pmrt.place<write @y + 0 : 640>]
// CHECK-SAME: outer 4 piece 15 row 40 : f32
// CHECK: pmrt.reduce_scatter "sum" over ["tp"] [#pmrt.place<read @y + 0 : 640>, #pmrt.place<write @z + 0 : 320>]
// CHECK-SAME: outer 1 piece 80 row 160 : f32
func.func @stage0_prologue(%x: tensor<4x3x5xf32> {pm.buffer = @x}) -> (tensor<4x8x5xf32> {pm.buffer = @y}, tensor<2x8x5xf32> {pm.buffer = @z})
    attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  %0 = pm.all_gather %x dim 1 over ["tp"] on @mesh : (tensor<4x3x5xf32>) -> tensor<4x8x5xf32>
  %1 = pm.reduce_scatter %0 sum dim 0 over ["tp"] on @mesh : (tensor<4x8x5xf32>) -> tensor<2x8x5xf32>
  return %0, %1 : tensor<4x8x5xf32>, tensor<2x8x5xf32>
}
