// RUN: pmopt %s --split-input-file --pm-lower-to-runtime | FileCheck %s

// Two micro-batches: the accumulator is zeroed in front, the matrix product adds
// to it, results are computed in their buffers, equal kernels are one.
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4x8xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {role = "x"}
  pm.buffer @w state : tensor<8x8xf32> sharding <@mesh, [{}, {}]> {role = "parameter", parameter = "w"}
  pm.buffer @h activation : tensor<4x8xf32> sharding <@mesh, [{"dp", "mb"}, {}]>
  pm.buffer @dw accumulator : tensor<8x8xf32> sharding <@mesh, [{}, {}], partial = sum{"dp", "mb"}>
  pm.buffer @grad output : tensor<8x8xf32> sharding <@mesh, [{}, {}]> {role = "gradient", parameter = "w"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    pm.action backward stage 0 micro_batch 0
    pm.action forward stage 0 micro_batch 1
    pm.action backward stage 0 micro_batch 1
    pm.action update stage 0 micro_batch 0
  }
}

// CHECK-NOT: pm.fragment
// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.buffer @x offset 0 bytes 128 slots 2 stride 128
// CHECK: pmrt.buffer @w offset 256 bytes 256 slots 1
// One forward and backward after the other: one slot is enough.
// CHECK: pmrt.buffer @h offset 512 bytes 128 slots 1
// CHECK: pmrt.buffer @dw offset [[DW:[0-9]+]] bytes 256
// The reduced gradient lies where the sum was made.
// CHECK: pmrt.buffer @grad offset [[DW]] bytes 256
// CHECK: pmrt.body @stage0_forward
// CHECK:   pmrt.gemm [#pmrt.place<read @x + 0 : 128>, #pmrt.place<read @w + 0 : 256>, #pmrt.place<write @h + 0 : 128>]
// CHECK:     m 4 n 8 k 8 ld [8, 8, 8] trans [0, 1]
// CHECK:   pmrt.call @kernel_0 [#pmrt.place<read @h + 0 : 128>, #pmrt.place<write @h + 0 : 128>]
// CHECK: pmrt.body @stage0_backward
// CHECK:   pmrt.call @kernel_0 [#pmrt.place<read @h + 0 : 128>, #pmrt.place<write @h + 0 : 128>]
// CHECK:   pmrt.gemm {{.*}}#pmrt.place<update @dw + 0 : 256>] {{.*}} accumulate
// CHECK: pmrt.body @stage0_update
// CHECK:   pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @dw + 0 : 256>] : f32
// CHECK:   pmrt.gemm {{.*}}#pmrt.place<write scratch + 0 : 256>]
// CHECK:   pmrt.copy [#pmrt.place<read scratch + 0 : 256>, #pmrt.place<write @w + 0 : 256>]
// CHECK: pmrt.body @zero_accumulators "prologue"
// CHECK:   pmrt.zero [#pmrt.place<write @dw + 0 : 256>]
// CHECK: pmrt.action @zero_accumulators micro_batch 0
// CHECK: pmrt.action @stage0_forward micro_batch 0
// CHECK: pmrt.action @stage0_backward micro_batch 1
// CHECK: pmrt.action @stage0_update micro_batch 0
// CHECK: func.func private @kernel_0
// CHECK-NOT: func.func
func.func @stage0_forward(%x: tensor<4x8xf32> {pm.buffer = @x}, %w: tensor<8x8xf32> {pm.buffer = @w})
    -> (tensor<4x8xf32> {pm.buffer = @h}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = pmrt.fused (%0) in_place [0] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %n = stablehlo.negate %a : tensor<4x8xf32>
    pmrt.yield %n : tensor<4x8xf32>
  }
  return %1 : tensor<4x8xf32>
}
func.func @stage0_backward(%h: tensor<4x8xf32> {pm.buffer = @h}, %x: tensor<4x8xf32> {pm.buffer = @x})
    -> (tensor<8x8xf32> {pm.buffer = @dw}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %0 = pmrt.fused (%h) in_place [0] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%other: tensor<4x8xf32>):
    %n = stablehlo.negate %other : tensor<4x8xf32>
    pmrt.yield %n : tensor<4x8xf32>
  }
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [0] x [0] {pmrt.accumulate} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// The new state may not be written while the old one is still read.
func.func @stage0_update(%g: tensor<8x8xf32> {pm.buffer = @dw}, %w: tensor<8x8xf32> {pm.buffer = @w})
    -> (tensor<8x8xf32> {pm.buffer = @grad}, tensor<8x8xf32> {pm.buffer = @w}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  %0 = pm.all_reduce sum(%g) over ["dp"] on @mesh : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The blocks of two dimensions change places, the last ones short.
pm.mesh @mesh = [<"tp", spatial = 2>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<2x3x4x7xf32> sharding <@mesh, [{}, {"tp"}, {}, {}]> {role = "x"}
  pm.buffer @y output : tensor<2x5x4x4xf32> sharding <@mesh, [{}, {}, {}, {"tp"}]> {role = "y"}
  pm.buffer @z output : tensor<2x5x4x4xf32> sharding <@mesh, [{}, {}, {}, {"tp"}]> {role = "z"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}
// CHECK: pmrt.buffer @z
// CHECK: pmrt.all_to_all over ["tp"] [#pmrt.place<read @x + 0 : 672>, #pmrt.place<write @y + 0 : 640>] outer 2 middle 4 inner 1 split 7 pieces 4 concat 5 pieces 3 : f32
// CHECK: pmrt.permute over ["tp"] sources [1, 0] [#pmrt.place<read @y + 0 : 640>, #pmrt.place<write @z + 0 : 640>] : f32
func.func @stage0_forward(%x: tensor<2x3x4x7xf32> {pm.buffer = @x})
    -> (tensor<2x5x4x4xf32> {pm.buffer = @y}, tensor<2x5x4x4xf32> {pm.buffer = @z}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %0 = pm.all_to_all %x split 3 concat 1 over ["tp"] on @mesh : (tensor<2x3x4x7xf32>) -> tensor<2x5x4x4xf32>
  %1 = pm.collective_permute %0 over ["tp"] sources [1, 0] on @mesh : tensor<2x5x4x4xf32>
  return %0, %1 : tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32>
}
