// RUN: pmopt %s --split-input-file --verify-diagnostics --pm-verify-kernels

func.func @stage0_forward(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{may not stand in a fragment of the kernel level; run pm-fuse-kernels}}
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @stage0_forward(%a: tensor<4x5x6xf32>, %b: tensor<4x6x7xf32>) -> tensor<5x7xf32> attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{is no batched matrix product over dense operands; run pm-prepare-gemms first}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [0, 1] : (tensor<4x5x6xf32>, tensor<4x6x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
