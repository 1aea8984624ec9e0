// Gradients are summed over the ranks from where the last micro-batch has completed
// them.

// RUN: pmopt %s --split-input-file --pm-overlap-collectives=bucket-bytes=2048 --pm-verify-runtime | FileCheck %s
// RUN: pmopt %s --split-input-file --pm-overlap-collectives=bucket-bytes=0 | FileCheck %s --check-prefix=OFF
// RUN: not pmopt %s --split-input-file --pm-overlap-collectives=bucket-bytes=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// OFF-NOT: event
// NEGATIVE: bucket-bytes is -1, but must be 0 or more

// Layer 2 is complete first. A bucket of two gradients starts behind the second;
// the norm's stays behind, as it is small, and so does what is complete last.
// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.body @stage0_backward "backward"
// CHECK-NOT: all_reduce
// CHECK: pmrt.body @stage0_backward_last "backward"
// CHECK-NEXT: pmrt.zero [#pmrt.place<write @w2 + 0 : 1024>]
// CHECK-NEXT: pmrt.zero [#pmrt.place<write @norm + 0 : 128>]
// CHECK-NEXT: pmrt.zero [#pmrt.place<write @w1 + 0 : 1024>]
// CHECK-NEXT: pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w2 + 0 : 1024>, #pmrt.place<update @w1 + 0 : 1024>] : f32 event 1
// CHECK-NEXT: pmrt.zero [#pmrt.place<write @w0 + 0 : 2048>]
// CHECK: pmrt.body @stage0_update
// CHECK-NEXT: pmrt.wait 1
// CHECK-NEXT: pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w0 + 0 : 2048>] : f32
// CHECK-NEXT: pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @norm + 0 : 128>] : f32
// CHECK: pmrt.action @stage0_backward micro_batch 0
// CHECK-NEXT: pmrt.action @stage0_backward_last micro_batch 1
pmrt.role @role_0 arena 4224 scratch 4224 : 0 {
  pmrt.buffer @w0 offset 0 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.buffer @w1 offset 2048 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.buffer @w2 offset 3072 bytes 1024 slots 1 stride 1024 : tensor<256xf32>
  pmrt.buffer @norm offset 4096 bytes 128 slots 1 stride 128 : tensor<32xf32>
  pmrt.body @stage0_backward "backward" stage 0 {
    pmrt.zero [#pmrt.place<write @w2 + 0 : 1024>]
    pmrt.zero [#pmrt.place<write @norm + 0 : 128>]
    pmrt.zero [#pmrt.place<write @w1 + 0 : 1024>]
    pmrt.zero [#pmrt.place<write @w0 + 0 : 2048>]
  }
  pmrt.body @stage0_update "update" stage 0 {
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w0 + 0 : 2048>, #pmrt.place<update @w1 + 0 : 1024>] : f32
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @norm + 0 : 128>, #pmrt.place<update @w2 + 0 : 1024>] : f32
    pmrt.zero [#pmrt.place<write @w0 + 0 : 2048>]
  }
  pmrt.action @stage0_backward micro_batch 0
  pmrt.action @stage0_backward micro_batch 1
  pmrt.action @stage0_update micro_batch 0
}

// -----

// A gradient that is complete in an action before the last one starts there; one
// that comes from another role, or that something reads before its sum, does not.
// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.body @stage1_weight_gradient "weight_gradient" stage 1
// CHECK-NEXT: pmrt.zero
// CHECK-NEXT: pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w1 + 0 : 2048>] : f32 event 1
// CHECK: pmrt.body @stage0_reduce
// CHECK-NEXT: pmrt.copy
// CHECK-NEXT: pmrt.wait 1
// CHECK-NEXT: pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @tied + 0 : 2048>, #pmrt.place<update @read + 0 : 2048>] : f32
pmrt.role @role_0 arena 10240 scratch 8192 : 2048 {
  pmrt.buffer @w0 offset 0 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.buffer @w1 offset 2048 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.buffer @tied offset 4096 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.buffer @read offset 6144 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.body @stage1_weight_gradient "weight_gradient" stage 1 {
    pmrt.zero [#pmrt.place<write @w1 + 0 : 2048>]
  }
  pmrt.body @stage0_weight_gradient "weight_gradient" stage 0 {
    pmrt.zero [#pmrt.place<write @read + 0 : 2048>]
  }
  pmrt.body @stage0_reduce "reduce" stage 0 {
    pmrt.copy [#pmrt.place<read @read + 0 : 2048>, #pmrt.place<write scratch + 0 : 2048>]
    pmrt.all_reduce "sum" over ["dp"] [#pmrt.place<update @w1 + 0 : 2048>, #pmrt.place<update @tied + 0 : 2048>, #pmrt.place<update @read + 0 : 2048>] : f32
  }
  pmrt.action @stage1_weight_gradient micro_batch 0
  pmrt.action @stage0_weight_gradient micro_batch 0
  pmrt.receive @tied from 1 micro_batch 0 channel 0
  pmrt.action @stage0_reduce micro_batch 0
}

pmrt.role @role_1 arena 2048 scratch 2048 : 0 {
  pmrt.buffer @tied offset 0 bytes 2048 slots 1 stride 2048 : tensor<512xf32>
  pmrt.body @stage1_weight_gradient "weight_gradient" stage 1 {
    pmrt.zero [#pmrt.place<write @tied + 0 : 2048>]
  }
  pmrt.action @stage1_weight_gradient micro_batch 0
  pmrt.send @tied to 0 micro_batch 0 channel 0
}
