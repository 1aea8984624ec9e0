// Three layers that add the same learned positions and multiply by the same mask, which
// is made of an input. Layer 1 uses its weight twice, in front of its activation and
// behind it.
module attributes {pm.task = "train", pm.batch = 8 : i64} {
  func.func @main(
      %x: tensor<8x4xf32> {pm.input = "x"},
      %lengths: tensor<8xi32> {pm.input = "lengths"},
      %table: tensor<4xf32> {pm.state = #pm.state<parameter, "positions">},
      %w0: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w0">},
      %w1: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w1">},
      %w2: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w2">})
      -> (tensor<f32> {pm.output = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %columns = stablehlo.iota dim = 1 : tensor<8x4xi32>
    %ends = stablehlo.broadcast_in_dim %lengths, dims = [0] : (tensor<8xi32>) -> tensor<8x4xi32>
    %inside = stablehlo.compare LT, %columns, %ends : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %mask = stablehlo.convert %inside : (tensor<8x4xi1>) -> tensor<8x4xf32>
    %sine = stablehlo.sine %table : tensor<4xf32>
    %b0 = stablehlo.broadcast_in_dim %sine, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32> loc("layers.0.position")
    %p0 = stablehlo.add %x, %b0 : tensor<8x4xf32> loc("layers.0.position")
    %h0 = stablehlo.dot_general %p0, %w0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.0.mlp")
    %a0 = stablehlo.multiply %h0, %mask : tensor<8x4xf32> loc("layers.0.mask")
    %b1 = stablehlo.broadcast_in_dim %sine, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32> loc("layers.1.position")
    %p1 = stablehlo.add %a0, %b1 : tensor<8x4xf32> loc("layers.1.position")
    %g1 = stablehlo.dot_general %p1, %w1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %t1 = stablehlo.tanh %g1 : tensor<8x4xf32> loc("layers.1.mlp")
    %h1 = stablehlo.dot_general %t1, %w1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.1.mlp")
    %a1 = stablehlo.multiply %h1, %mask : tensor<8x4xf32> loc("layers.1.mask")
    %b2 = stablehlo.broadcast_in_dim %sine, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32> loc("layers.2.position")
    %p2 = stablehlo.add %a1, %b2 : tensor<8x4xf32> loc("layers.2.position")
    %h2 = stablehlo.dot_general %p2, %w2, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("layers.2.mlp")
    %a2 = stablehlo.multiply %h2, %mask : tensor<8x4xf32> loc("layers.2.mask")
    %square = stablehlo.multiply %a2, %a2 : tensor<8x4xf32> loc("loss")
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("loss")
    return %loss : tensor<f32>
  }
}
