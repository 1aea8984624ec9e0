// RUN: pmopt %s --pm-fuse-kernels -split-input-file -verify-diagnostics

func.func @foreign_code_has_no_kernel(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{cannot be computed by a kernel; rewrite it with ops that move or combine elements at fixed places}}
  %y = stablehlo.custom_call @target(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

func.func @captured_value(%x: tensor<4x6xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%x init: %s) across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    // expected-error @below {{reads a value from outside of its region, which a kernel cannot hold}}
    %1 = stablehlo.add %a, %s : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{needs one block to form kernels from, but has 2}}
func.func @two_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
^bb1:
  return %x : tensor<4xf32>
}
