// RUN: pmopt %s --pm-differentiate-function -split-input-file -verify-diagnostics

// expected-error@below {{must have a body of one block to be differentiated}}
func.func private @f(tensor<f32>) -> tensor<f32>

// -----

// expected-error@below {{cannot be differentiated: the name '@f_grad' is taken}}
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @f_grad(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @argmax(%x: tensor<3xf32>, %i: tensor<3xi32>, %low: tensor<f32>, %none: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  // expected-error@below {{has no gradient (its body is none of add, maximum and minimum), but lies on the path from argument 0 to a result}}
  %r:2 = stablehlo.reduce(%x init: %low), (%i init: %none) across dimensions = [0] : (tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    %1 = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %0, %1 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}

// -----

func.func @complex(%x: tensor<3xf32>) -> tensor<3xcomplex<f32>> {
  %z = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xcomplex<f32>>
  return %z : tensor<3xcomplex<f32>>
}
