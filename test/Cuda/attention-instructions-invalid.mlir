// RUN: pmopt --pm-attention-instructions=all=true --split-input-file -verify-diagnostics %s

func.func private @windowed(%q: tensor<1x4x1x8xf16>, %k: tensor<1x4x1x8xf16>, %v: tensor<1x4x1x8xf16>) -> (tensor<1x4x1x8xf16>, tensor<1x1x4xf32>) attributes {pmrt.kernel} {
  %r:2 = pmrt.fused (%q, %k, %v) in_place [-1, -1] : (tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16>) -> (tensor<1x4x1x8xf16>, tensor<1x1x4xf32>) {
  ^bb0(%a: tensor<1x4x1x8xf16>, %b: tensor<1x4x1x8xf16>, %c: tensor<1x4x1x8xf16>):
    %o, %lse = pm.attention %a, %b, %c scale 0.35 causal window 2 : tensor<1x4x1x8xf16>, tensor<1x4x1x8xf16> -> tensor<1x1x4xf32>
    pmrt.yield %o, %lse : tensor<1x4x1x8xf16>, tensor<1x1x4xf32>
  }
  return %r#0, %r#1 : tensor<1x4x1x8xf16>, tensor<1x1x4xf32>
}
pmrt.role @role_0 arena 4096 scratch 4096 : 0 {
  pmrt.buffer @x offset 0 bytes 64 slots 1 stride 64 : tensor<1x4x1x8xf16>
  pmrt.buffer @o offset 128 bytes 64 slots 1 stride 64 : tensor<1x4x1x8xf16>
  pmrt.buffer @lse offset 256 bytes 16 slots 1 stride 64 : tensor<1x1x4xf32>
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @+1 {{is attention that cuDNN does not have: it has a window of 2; compile with --attention=auto}}
    pmrt.call @windowed [#pmrt.place<read @x + 0 : 64>, #pmrt.place<read @x + 0 : 64>, #pmrt.place<read @x + 0 : 64>, #pmrt.place<write @o + 0 : 64>, #pmrt.place<write @lse + 0 : 16>]
  }
  pmrt.action @stage0_forward micro_batch 0
}

// -----

pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @+1 {{has place 1 of 128 bytes, but its tensor has 64}}
    pmrt.attention [#pmrt.place<read scratch + 0 : 128>, #pmrt.place<read scratch + 128 : 128>, #pmrt.place<read scratch + 192 : 64>, #pmrt.place<write scratch + 384 : 128>, #pmrt.place<write scratch + 512 : 32>]
      batch 1 heads 2 of 1 queries 4 keys 4 size 8 scale 0.35355339 causal : bf16
  }
}

// -----

pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @+1 {{is causal, but has 4 queries and 8 keys}}
    pmrt.attention [#pmrt.place<read scratch + 0 : 128>, #pmrt.place<read scratch + 128 : 128>, #pmrt.place<read scratch + 192 : 64>, #pmrt.place<write scratch + 384 : 128>, #pmrt.place<write scratch + 512 : 32>]
      batch 1 heads 2 of 1 queries 4 keys 8 size 8 scale 0.35355339 causal : bf16
  }
}

// -----

pmrt.role @role_0 arena 1024 scratch 0 : 1024 {
  pmrt.body @stage0_forward "forward" stage 0 {
    // expected-error @+1 {{has elements of 'f32', but is there for bf16 and f16}}
    pmrt.attention [#pmrt.place<read scratch + 0 : 256>]
      batch 1 heads 2 of 1 queries 4 keys 4 size 8 scale 0.35355339 causal : f32
  }
}
