// RUN: pmopt %s --pm-fuse-kernels -split-input-file -verify-diagnostics

func.func @sort_has_no_kernel(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{cannot be computed by a kernel; rewrite it with ops that move or combine elements at fixed places}}
  %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %before = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// expected-error @below {{needs one block to form kernels from, but has 2}}
func.func @two_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
^bb1:
  return %x : tensor<4xf32>
}
