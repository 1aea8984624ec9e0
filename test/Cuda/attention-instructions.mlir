// RUN: pmopt --pm-attention-instructions --split-input-file %s | FileCheck %s

// Of grouped heads, forward and gradient become instructions; the order of the kernel's
// operands does not matter.
// CHECK-LABEL: pmrt.body @stage0_backward
// CHECK: pmrt.attention [#pmrt.place<read @q + 0 : 1024>, #pmrt.place<read @k + 0 : 512>, #pmrt.place<read @v + 0 : 512>, #pmrt.place<write @o + 0 : 1024>, #pmrt.place<write @lse + 0 : 256>]
// CHECK-SAME: batch 1 heads 4 of 2 queries 16 keys 16 size 8 scale 3.500000e-01 causal : bf16
// CHECK: pmrt.attention [#pmrt.place<read @q + 0 : 1024>, #pmrt.place<read @k + 0 : 512>, #pmrt.place<read @v + 0 : 512>, #pmrt.place<read @o + 0 : 1024>, #pmrt.place<read @lse + 0 : 256>, #pmrt.place<read @g + 0 : 1024>, #pmrt.place<write @dq + 0 : 1024>, #pmrt.place<write @dk + 0 : 512>, #pmrt.place<write @dv + 0 : 512>]
// CHECK-SAME: batch 1 heads 4 of 2 queries 16 keys 16 size 8 scale 3.500000e-01 causal gradient : bf16
// CHECK-NOT: func.func
func.func private @forward(%v: tensor<1x16x2x8xbf16>, %q: tensor<1x16x4x8xbf16>, %k: tensor<1x16x2x8xbf16>) -> (tensor<1x16x4x8xbf16>, tensor<1x4x16xf32>) attributes {pmrt.kernel} {
  %r:2 = pmrt.fused (%v, %q, %k) in_place [-1, -1] : (tensor<1x16x2x8xbf16>, tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>) -> (tensor<1x16x4x8xbf16>, tensor<1x4x16xf32>) {
  ^bb0(%c: tensor<1x16x2x8xbf16>, %a: tensor<1x16x4x8xbf16>, %b: tensor<1x16x2x8xbf16>):
    %o, %lse = pm.attention %a, %b, %c scale 0.35 causal : tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16> -> tensor<1x4x16xf32>
    pmrt.yield %o, %lse : tensor<1x16x4x8xbf16>, tensor<1x4x16xf32>
  }
  return %r#0, %r#1 : tensor<1x16x4x8xbf16>, tensor<1x4x16xf32>
}
func.func private @backward(%q: tensor<1x16x4x8xbf16>, %k: tensor<1x16x2x8xbf16>, %v: tensor<1x16x2x8xbf16>, %o: tensor<1x16x4x8xbf16>, %lse: tensor<1x4x16xf32>, %g: tensor<1x16x4x8xbf16>) -> (tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>) attributes {pmrt.kernel} {
  %r:3 = pmrt.fused (%q, %k, %v, %o, %lse, %g) in_place [-1, -1, -1] : (tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x4x8xbf16>, tensor<1x4x16xf32>, tensor<1x16x4x8xbf16>) -> (tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>) {
  ^bb0(%a: tensor<1x16x4x8xbf16>, %b: tensor<1x16x2x8xbf16>, %c: tensor<1x16x2x8xbf16>, %d: tensor<1x16x4x8xbf16>, %e: tensor<1x4x16xf32>, %f: tensor<1x16x4x8xbf16>):
    %dq, %dk, %dv = pm.attention_grad %a, %b, %c, %d, %e, %f scale 0.35 causal : tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x4x16xf32>
    pmrt.yield %dq, %dk, %dv : tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>
  }
  return %r#0, %r#1, %r#2 : tensor<1x16x4x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>
}
pmrt.role @role_0 arena 8192 scratch 8192 : 0 {
  pmrt.buffer @q offset 0 bytes 1024 slots 1 stride 1024 : tensor<1x16x4x8xbf16>
  pmrt.buffer @k offset 1024 bytes 512 slots 1 stride 512 : tensor<1x16x2x8xbf16>
  pmrt.buffer @v offset 1536 bytes 512 slots 1 stride 512 : tensor<1x16x2x8xbf16>
  pmrt.buffer @o offset 2048 bytes 1024 slots 1 stride 1024 : tensor<1x16x4x8xbf16>
  pmrt.buffer @lse offset 3072 bytes 256 slots 1 stride 256 : tensor<1x4x16xf32>
  pmrt.buffer @g offset 3328 bytes 1024 slots 1 stride 1024 : tensor<1x16x4x8xbf16>
  pmrt.buffer @dq offset 4352 bytes 1024 slots 1 stride 1024 : tensor<1x16x4x8xbf16>
  pmrt.buffer @dk offset 5376 bytes 512 slots 1 stride 512 : tensor<1x16x2x8xbf16>
  pmrt.buffer @dv offset 5888 bytes 512 slots 1 stride 512 : tensor<1x16x2x8xbf16>
  pmrt.body @stage0_backward "backward" stage 0 {
    pmrt.call @forward [#pmrt.place<read @v + 0 : 512>, #pmrt.place<read @q + 0 : 1024>, #pmrt.place<read @k + 0 : 512>, #pmrt.place<write @o + 0 : 1024>, #pmrt.place<write @lse + 0 : 256>]
    pmrt.call @backward [#pmrt.place<read @q + 0 : 1024>, #pmrt.place<read @k + 0 : 512>, #pmrt.place<read @v + 0 : 512>, #pmrt.place<read @o + 0 : 1024>, #pmrt.place<read @lse + 0 : 256>, #pmrt.place<read @g + 0 : 1024>, #pmrt.place<write @dq + 0 : 1024>, #pmrt.place<write @dk + 0 : 512>, #pmrt.place<write @dv + 0 : 512>]
  }
  pmrt.action @stage0_backward micro_batch 0
}

// -----

// Float32, a window and heads of another width stay kernels.
// CHECK-LABEL: func.func private @single
// CHECK: pmrt.call @single
// CHECK: pmrt.call @windowed
// CHECK: pmrt.call @wide
// CHECK-NOT: pmrt.attention
func.func private @single(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>, %v: tensor<1x4x1x8xf32>) -> (tensor<1x4x1x8xf32>, tensor<1x1x4xf32>) attributes {pmrt.kernel} {
  %r:2 = pmrt.fused (%q, %k, %v) in_place [-1, -1] : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) -> (tensor<1x4x1x8xf32>, tensor<1x1x4xf32>) {
  ^bb0(%a: tensor<1x4x1x8xf32>, %b: tensor<1x4x1x8xf32>, %c: tensor<1x4x1x8xf32>):
    %o, %lse = pm.attention %a, %b, %c scale 0.35 causal : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32> -> tensor<1x1x4xf32>
    pmrt.yield %o, %lse : tensor<1x4x1x8xf32>, tensor<1x1x4xf32>
  }
  return %r#0, %r#1 : tensor<1x4x1x8xf32>, tensor<1x1x4xf32>
}
func.func private @windowed(%q: tensor<1x4x1x8xf16>, %k: tensor<1x4x1x8xf16>, %v: tensor<1x4x1x8xf16>) -> (tensor<1x4x1x8xf16>, tensor<1x1x4xf32>) attributes {pmrt.kernel} {
  %r:2 = pmrt.fused (%q, %k, %v) in_place [-1, -1] : (tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>) -> (tensor<1x4x1x8xf16>, tensor<1x1x4xf32>) {
  ^bb0(%a: tensor<1x4x1x8xf16>, %b: tensor<1x4x1x8xf16>, %c: tensor<1x4x1x8xf16>):
    %o, %lse = pm.attention %a, %b, %c scale 0.35 causal window 2 : tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16> -> tensor<1x1x4xf32>
    pmrt.yield %o, %lse : tensor<1x4x1x8xf16>, tensor<1x1x4xf32>
  }
  return %r#0, %r#1 : tensor<1x4x1x8xf16>, tensor<1x1x4xf32>
}
func.func private @wide(%q: tensor<1x4x1x12xbf16>, %k: tensor<1x4x1x12xbf16>, %v: tensor<1x4x1x12xbf16>) -> (tensor<1x4x1x12xbf16>, tensor<1x1x4xf32>) attributes {pmrt.kernel} {
  %r:2 = pmrt.fused (%q, %k, %v) in_place [-1, -1] : (tensor<1x4x1x12xbf16>, tensor<1x4x1x12xbf16>, tensor<1x4x1x12xbf16>) -> (tensor<1x4x1x12xbf16>, tensor<1x1x4xf32>) {
  ^bb0(%a: tensor<1x4x1x12xbf16>, %b: tensor<1x4x1x12xbf16>, %c: tensor<1x4x1x12xbf16>):
    %o, %lse = pm.attention %a, %b, %c scale 0.35 causal : tensor<1x4x1x12xbf16>, tensor<1x4x1x12xbf16> -> tensor<1x1x4xf32>
    pmrt.yield %o, %lse : tensor<1x4x1x12xbf16>, tensor<1x1x4xf32>
  }
  return %r#0, %r#1 : tensor<1x4x1x12xbf16>, tensor<1x1x4xf32>
}
pmrt.role @role_0 arena 4096 scratch 4096 : 0 {
  pmrt.buffer @x offset 0 bytes 128 slots 1 stride 128 : tensor<1x4x1x8xf32>
  pmrt.buffer @o offset 128 bytes 128 slots 1 stride 128 : tensor<1x4x1x8xf32>
  pmrt.buffer @lse offset 256 bytes 16 slots 1 stride 64 : tensor<1x1x4xf32>
  pmrt.body @stage0_forward "forward" stage 0 {
    pmrt.call @single [#pmrt.place<read @x + 0 : 128>, #pmrt.place<read @x + 0 : 128>, #pmrt.place<read @x + 0 : 128>, #pmrt.place<write @o + 0 : 128>, #pmrt.place<write @lse + 0 : 16>]
    pmrt.call @windowed [#pmrt.place<read @x + 0 : 64>, #pmrt.place<read @x + 0 : 64>, #pmrt.place<read @x + 0 : 64>, #pmrt.place<write @o + 0 : 64>, #pmrt.place<write @lse + 0 : 16>]
    pmrt.call @wide [#pmrt.place<read @x + 0 : 96>, #pmrt.place<read @x + 0 : 96>, #pmrt.place<read @x + 0 : 96>, #pmrt.place<write @o + 0 : 96>, #pmrt.place<write @lse + 0 : 16>]
  }
  pmrt.action @stage0_forward micro_batch 0
}
