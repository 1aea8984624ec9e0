// RUN: pmopt %s --pm-differentiate -split-input-file -verify-diagnostics

// expected-error@below {{the module's pm.task is "eval", which has no backward pass; import it with --task=train, or leave pm-differentiate out}}
module attributes {pm.task = "eval"} {
  func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@below {{the module is differentiated already: it has a pm.recipe}}
module attributes {pm.recipe = {}} {
  func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error@below {{pm-differentiate needs a function @main}}
module {
  func.func @other(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@below {{must have a body of one block to be differentiated}}
func.func private @main(tensor<f32>) -> tensor<f32>

// -----

// expected-error@below {{has no result marked {pm.output = "loss"}}}
func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error@below {{the loss must be a floating-point tensor of rank 0, but is 'tensor<2xf32>'}}
func.func @main(%w: tensor<2xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<2xf32> {pm.output = "loss"}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error@below {{has no argument marked {pm.state = #pm.state<parameter, ...>}}}
func.func @main(%w: tensor<f32>) -> (tensor<f32> {pm.output = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@below {{argument 1 is optimizer state already: #pm.state<moment1, "w">}}
func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}, %m: tensor<f32> {pm.state = #pm.state<moment1, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error@below {{parameter 'w' of type 'tensor<2xi32>' cannot be trained; leave it out of trainable}}
func.func @main(%w: tensor<2xi32> {pm.state = #pm.state<parameter, "w">}, %x: tensor<f32>) -> (tensor<f32> {pm.output = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-warning@below {{the loss does not depend on parameter 'v', which stays as it is}}
func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}, %v: tensor<f32> {pm.state = #pm.state<parameter, "v">}) -> (tensor<f32> {pm.output = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-warning@below {{the loss does not depend on parameter 'w', which stays as it is}}
// expected-error@below {{has a loss that depends on no trainable parameter}}
func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}, %x: tensor<f32>) -> (tensor<f32> {pm.output = "loss"}) {
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<3xf32> {pm.input = "x"}, %w: tensor<3xf32> {pm.state = #pm.state<parameter, "layers.0.w">}) -> (tensor<f32> {pm.output = "loss"}) {
  %0 = stablehlo.multiply %x, %w : tensor<3xf32>
  // expected-error@below {{has no gradient, but lies on the path from parameter 'layers.0.w' to the loss; write it with ops that have one, freeze what it depends on, or add its gradient as docs/adding-an-op.md shows}}
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %before = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  // expected-error@below {{has no gradient (a product; as the exponential of a sum of logarithms it has one), but lies on the path from parameter 'w' to the loss}}
  %loss = stablehlo.reduce(%w init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}, %x: tensor<3xf32>) -> (tensor<f32> {pm.output = "loss"}) {
  // expected-error@below {{has no gradient (the initial value of a maximum or minimum), but lies on the path from parameter 'w' to the loss}}
  %loss = stablehlo.reduce(%x init: %w) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
  // expected-error@below {{has no gradient (a call; --inline puts the function in its place), but lies on the path from parameter 'w' to the loss}}
  %loss = call @square(%w) : (tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
func.func private @square(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.multiply %x, %x : tensor<f32>
  return %y : tensor<f32>
}

// -----

// An op without a gradient that no gradient flows through is no obstacle.
func.func @main(%w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}, tensor<3xf32> {pm.output = "sorted"}) {
  %sorted = "stablehlo.sort"(%w) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %before = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %loss, %sorted : tensor<f32>, tensor<3xf32>
}
