// Sums and a maximum over the whole batch that every micro-batch divides by: of
// inputs, of what lies beside them by row (a constant, places), and of a running sum.
module attributes {pm.task = "eval", pm.batch = 6 : i64} {
  func.func @main(
      %x: tensor<6x3xf32> {pm.input = "x"},
      %weights: tensor<6xf32> {pm.input = "weights"},
      %w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">})
      -> (tensor<f32> {pm.output = "loss"}, tensor<6xf32> {pm.output = "y"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %rows = stablehlo.constant dense<[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]> : tensor<6xf32>
    %places = stablehlo.iota dim = 0 : tensor<6xf32>
    %squares = stablehlo.multiply %weights, %weights : tensor<6xf32>
    %a = stablehlo.multiply %squares, %rows : tensor<6xf32>
    %b = stablehlo.add %a, %places : tensor<6xf32>
    %running = "stablehlo.reduce_window"(%b, %zero) <{padding = dense<[[5, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 6>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
    %sum = stablehlo.reduce(%running init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %largest = stablehlo.reduce(%b init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %total = stablehlo.add %sum, %largest : tensor<f32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x3xf32>, tensor<3xf32>) -> tensor<6xf32>
    %each = stablehlo.broadcast_in_dim %total, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %share = stablehlo.divide %y, %each : tensor<6xf32>
    %loss = stablehlo.reduce(%share init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    return %loss, %share : tensor<f32>, tensor<6xf32>
  }
}
