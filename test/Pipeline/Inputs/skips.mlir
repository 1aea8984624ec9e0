// Values that cross stages in every way, with the layers in the locations: a skip
// over a stage, a scale that two layers read, a factor made of state once a step,
// a loss of every layer, a sum of gradients over three stages, a parameter average
// that only the update reads, and a scalar of the parameters of two stages, of
// which each then keeps both.
module attributes {pm.task = "train", pm.batch = 8 : i64} {
  func.func @main(
      %x: tensor<8x4xf32> {pm.input = "x"},
      %w0: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w0">},
      %w1: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w1">},
      %w2: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w2">},
      %scale: tensor<4xf32> {pm.state = #pm.state<parameter, "scale">},
      %average: tensor<4x4xf32> {pm.state = #pm.state<moment1, "average">})
      -> (tensor<8x4xf32> {pm.output = "y"},
          tensor<f32> {pm.output = "loss"},
          tensor<f32> {pm.output = "weight_norm"},
          tensor<4xf32> {pm.output = "gradient", pm.name = "scale"},
          tensor<4x4xf32> {pm.state = #pm.state<parameter, "w0">},
          tensor<4x4xf32> {pm.state = #pm.state<parameter, "w2">},
          tensor<4xf32> {pm.state = #pm.state<parameter, "scale">},
          tensor<4x4xf32> {pm.state = #pm.state<moment1, "average">}) {
    %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
    %e = stablehlo.exponential %scale {pm.phase = "forward"} : tensor<4xf32> loc("layers.0.scale")
    %eb = stablehlo.broadcast_in_dim %e, dims = [1] {pm.phase = "forward"} : (tensor<4xf32>) -> tensor<8x4xf32> loc("layers.0.scale")
    %sb = stablehlo.broadcast_in_dim %scale, dims = [1] {pm.phase = "forward"} : (tensor<4xf32>) -> tensor<8x4xf32> loc("layers.1.scale")
    %h0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.0.mlp")
    %a0 = stablehlo.multiply %h0, %eb {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.0.mlp")
    %loss0 = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("layers.0.loss")
    %h1 = stablehlo.dot_general %a0, %w1, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %a1 = stablehlo.multiply %h1, %sb {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.1.mlp")
    %loss1 = stablehlo.reduce(%a1 init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("layers.1.loss")
    %h2 = stablehlo.dot_general %a1, %w2, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.2.mlp")
    %a2 = stablehlo.multiply %h2, %eb {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.2.mlp")
    %y = stablehlo.add %a2, %h0 {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.2.skip")
    %loss2 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("layers.2.loss")
    %loss01 = stablehlo.add %loss0, %loss1 {pm.phase = "forward"} : tensor<f32> loc("loss")
    %loss = stablehlo.add %loss01, %loss2 {pm.phase = "forward"} : tensor<f32> loc("loss")

    %d2 = stablehlo.multiply %y, %h2 {pm.phase = "backward"} : tensor<8x4xf32> loc("layers.2.mlp")
    %ds2 = stablehlo.reduce(%d2 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32> loc("layers.2.mlp")
    %dw2 = stablehlo.dot_general %a1, %d2, contracting_dims = [0] x [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("layers.2.mlp")
    %d1 = stablehlo.dot_general %d2, %w2, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.2.mlp")
    %p1 = stablehlo.multiply %d1, %h1 {pm.phase = "backward"} : tensor<8x4xf32> loc("layers.1.mlp")
    %ds1 = stablehlo.reduce(%p1 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32> loc("layers.1.mlp")
    %ds12 = stablehlo.add %ds2, %ds1 {pm.phase = "backward"} : tensor<4xf32> loc("layers.1.mlp")
    %d0 = stablehlo.dot_general %p1, %w1, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %p0 = stablehlo.multiply %d0, %y {pm.phase = "backward"} : tensor<8x4xf32> loc("layers.0.mlp")
    %ds0 = stablehlo.reduce(%p0 init: %zero) applies stablehlo.add across dimensions = [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32> loc("layers.0.mlp")
    %ds = stablehlo.add %ds12, %ds0 {pm.phase = "backward"} : tensor<4xf32> loc("layers.0.mlp")
    %dw0 = stablehlo.dot_general %x, %p0, contracting_dims = [0] x [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("layers.0.mlp")

    %q0 = stablehlo.multiply %w0, %w0 {pm.phase = "update"} : tensor<4x4xf32>
    %q2 = stablehlo.multiply %w0, %w2 {pm.phase = "update"} : tensor<4x4xf32>
    %q = stablehlo.add %q0, %q2 {pm.phase = "update"} : tensor<4x4xf32>
    %norm = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "update"} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    %n = stablehlo.broadcast_in_dim %norm, dims = [] {pm.phase = "update"} : (tensor<f32>) -> tensor<4x4xf32>
    %s0 = stablehlo.multiply %dw0, %n {pm.phase = "update"} : tensor<4x4xf32>
    %new0 = stablehlo.subtract %w0, %s0 {pm.phase = "update"} : tensor<4x4xf32>
    %new2 = stablehlo.subtract %w2, %dw2 {pm.phase = "update"} : tensor<4x4xf32>
    %news = stablehlo.subtract %scale, %ds {pm.phase = "update"} : tensor<4xf32>
    %newa = stablehlo.add %average, %new2 {pm.phase = "update"} : tensor<4x4xf32>
    return %y, %loss, %norm, %ds, %new0, %new2, %news, %newa : tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
  }
}
