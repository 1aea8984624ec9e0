// Two layers that drop elements at random: the masks are made in the forward and
// read by the backward.
module attributes {pm.task = "train", pm.batch = 8 : i64} {
  func.func @main(
      %x: tensor<8x4xf32> {pm.input = "x"},
      %seed: tensor<ui64> {pm.input = "seed"},
      %w0: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w0">},
      %w1: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w1">})
      -> (tensor<f32> {pm.output = "loss"},
          tensor<4x4xf32> {pm.output = "gradient", pm.name = "w0"},
          tensor<4x4xf32> {pm.output = "gradient", pm.name = "w1"},
          tensor<4x4xf32> {pm.state = #pm.state<parameter, "w0">},
          tensor<4x4xf32> {pm.state = #pm.state<parameter, "w1">}) {
    %zero = stablehlo.constant {pm.phase = "forward"} dense<0.0> : tensor<f32>
    %half = stablehlo.constant {pm.phase = "forward"} dense<2147483648> : tensor<8x4xui32>
    %state = stablehlo.broadcast_in_dim %seed, dims = [] {pm.phase = "forward"} : (tensor<ui64>) -> tensor<2xui64> loc("layers.0.drop")
    %state1, %bits0 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY {pm.phase = "forward"} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>) loc("layers.0.drop")
    %keep0 = stablehlo.compare LT, %bits0, %half {pm.phase = "forward"} : (tensor<8x4xui32>, tensor<8x4xui32>) -> tensor<8x4xi1> loc("layers.0.drop")
    %mask0 = stablehlo.convert %keep0 {pm.phase = "forward"} : (tensor<8x4xi1>) -> tensor<8x4xf32> loc("layers.0.drop")
    %h0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.0.mlp")
    %a0 = stablehlo.multiply %h0, %mask0 {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.0.drop")
    %state2, %bits1 = stablehlo.rng_bit_generator %state1, algorithm = THREE_FRY {pm.phase = "forward"} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>) loc("layers.1.drop")
    %keep1 = stablehlo.compare LT, %bits1, %half {pm.phase = "forward"} : (tensor<8x4xui32>, tensor<8x4xui32>) -> tensor<8x4xi1> loc("layers.1.drop")
    %mask1 = stablehlo.convert %keep1 {pm.phase = "forward"} : (tensor<8x4xi1>) -> tensor<8x4xf32> loc("layers.1.drop")
    %h1 = stablehlo.dot_general %a0, %w1, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %a1 = stablehlo.multiply %h1, %mask1 {pm.phase = "forward"} : tensor<8x4xf32> loc("layers.1.drop")
    %square = stablehlo.multiply %a1, %a1 {pm.phase = "forward"} : tensor<8x4xf32> loc("loss")
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] {pm.phase = "forward"} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("loss")

    %d1 = stablehlo.multiply %a1, %mask1 {pm.phase = "backward"} : tensor<8x4xf32> loc("layers.1.drop")
    %dw1 = stablehlo.dot_general %a0, %d1, contracting_dims = [0] x [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("layers.1.mlp")
    %da0 = stablehlo.dot_general %d1, %w1, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %d0 = stablehlo.multiply %da0, %mask0 {pm.phase = "backward"} : tensor<8x4xf32> loc("layers.0.drop")
    %dw0 = stablehlo.dot_general %x, %d0, contracting_dims = [0] x [0] {pm.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("layers.0.mlp")

    %new0 = stablehlo.subtract %w0, %dw0 {pm.phase = "update"} : tensor<4x4xf32>
    %new1 = stablehlo.subtract %w1, %dw1 {pm.phase = "update"} : tensor<4x4xf32>
    return %loss, %dw0, %dw1, %new0, %new1 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
