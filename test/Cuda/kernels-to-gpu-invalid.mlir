// RUN: pmopt --pm-fuse-kernels --pm-kernels-to-gpu -verify-diagnostics %s

func.func @attention_in_double_precision(%q: tensor<2x64x4x64xf64>, %k: tensor<2x64x2x64xf64>, %v: tensor<2x64x2x64xf64>) -> tensor<2x64x4x64xf64> {
  // expected-error @+1 {{has a kernel for f32, bf16 and f16 only, but its operands are 'tensor<2x64x4x64xf64>'}}
  %o, %lse = pm.attention %q, %k, %v scale 0.125 causal : tensor<2x64x4x64xf64>, tensor<2x64x2x64xf64> -> tensor<2x4x64xf64>
  return %o : tensor<2x64x4x64xf64>
}
