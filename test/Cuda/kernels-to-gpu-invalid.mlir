// RUN: pmopt --pm-fuse-kernels --pm-kernels-to-gpu -verify-diagnostics %s

func.func @attention_in_half_precision(%q: tensor<2x64x4x64xbf16>, %k: tensor<2x64x2x64xbf16>, %v: tensor<2x64x2x64xbf16>) -> tensor<2x64x4x64xbf16> {
  // expected-error @+1 {{has a kernel for f32 only, but its operands are 'tensor<2x64x4x64xbf16>'}}
  %o, %lse = pm.attention %q, %k, %v scale 0.125 causal : tensor<2x64x4x64xbf16>, tensor<2x64x2x64xbf16> -> tensor<2x4x64xbf16>
  return %o : tensor<2x64x4x64xbf16>
}
