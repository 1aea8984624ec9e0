// RUN: pmopt %s --pm-verify-differentiated -split-input-file -verify-diagnostics

// expected-error@below {{a differentiated graph has a function @main of one block}}
module {}

// -----

// expected-error@below {{a differentiated graph has the module attribute pm.recipe, a dictionary}}
module {
  func.func @main() {
    return
  }
}

// -----

// expected-error@below {{pm.recipe has no 'clips'}}
module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"]}} {
  func.func @main() {
    return
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    // expected-error@below {{has no pm.phase}}
    %y = stablehlo.negate %x : tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    // expected-note@below {{the result is computed here}}
    %y = stablehlo.negate %x {pm.phase = "update"} : tensor<f32>
    // expected-error@below {{of phase "backward" uses a result of phase "update"}}
    %z = stablehlo.negate %y {pm.phase = "backward"} : tensor<f32>
    return %z : tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has two arguments of state #pm.state<parameter, "w">}}
  func.func @main(%a: tensor<f32> {pm.state = #pm.state<parameter, "w">}, %b: tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has two results of state #pm.state<parameter, "w">}}
  func.func @main(%a: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.state = #pm.state<parameter, "w">}, tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return %a, %a : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{returns state #pm.state<parameter, "w">, but has no argument for it}}
  func.func @main(%a: tensor<f32>) -> (tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return %a : tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{takes state #pm.state<parameter, "w"> as 'tensor<2xf32>', but returns it as 'tensor<f32>'}}
  func.func @main(%a: tensor<2xf32> {pm.state = #pm.state<parameter, "w">}, %b: tensor<f32>) -> (tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return %b : tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has an argument of state #pm.state<moment1, "w">, but no result for it}}
  func.func @main(%a: tensor<f32> {pm.state = #pm.state<moment1, "w">}) {
    return
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has no argument of state #pm.state<step, ...>}}
  func.func @main(%a: tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has a gradient as result 1 whose pm.name is no parameter}}
  func.func @main(%n: tensor<f32> {pm.state = #pm.state<step, "step">}) -> (tensor<f32> {pm.state = #pm.state<step, "step">}, tensor<f32> {pm.output = "gradient", pm.name = "w"}) {
    return %n, %n : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{updates parameter 'w', which has no moment1}}
  func.func @main(%n: tensor<f32> {pm.state = #pm.state<step, "step">}, %w: tensor<f32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.state = #pm.state<step, "step">}, tensor<f32> {pm.state = #pm.state<parameter, "w">}) {
    return %n, %w : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{updates parameter 'w', which has no gradient output}}
  func.func @main(%n: tensor<f32> {pm.state = #pm.state<step, "step">}, %w: tensor<f32> {pm.state = #pm.state<parameter, "w">},
      %m: tensor<f32> {pm.state = #pm.state<moment1, "w">}, %v: tensor<f32> {pm.state = #pm.state<moment2, "w">})
      -> (tensor<f32> {pm.state = #pm.state<step, "step">}, tensor<f32> {pm.state = #pm.state<parameter, "w">},
          tensor<f32> {pm.state = #pm.state<moment1, "w">}, tensor<f32> {pm.state = #pm.state<moment2, "w">}) {
    return %n, %w, %m, %v : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has no output 'loss'}}
  func.func @main(%n: tensor<f32> {pm.state = #pm.state<step, "step">}) -> (tensor<f32> {pm.state = #pm.state<step, "step">}) {
    return %n : tensor<f32>
  }
}

// -----

module attributes {pm.recipe = {optimizer = "adamw", decay = "all", trainable = ["*"], clips = false}} {
  // expected-error@below {{has no input 'learning_rate'}}
  func.func @main(%n: tensor<f32> {pm.state = #pm.state<step, "step">}) -> (tensor<f32> {pm.state = #pm.state<step, "step">}, tensor<f32> {pm.output = "loss"}, tensor<f32> {pm.output = "grad_norm"}) {
    return %n, %n, %n : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
