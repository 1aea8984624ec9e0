// A loss without its gradient: rotary tables from constants, learned positions
// sliced from their parameter, grouped attention, and a loss over counted labels.
module attributes {pm.task = "eval", pm.batch = 6 : i64, pm.vocabulary = 10 : i64} {
  func.func @main(
      %ids: tensor<6x4xi32> {pm.input = "input_ids"},
      %labels: tensor<6x4xi32> {pm.input = "labels"},
      %table: tensor<10x8xf32> {pm.state = #pm.state<parameter, "table">},
      %positions: tensor<16x8xf32> {pm.state = #pm.state<parameter, "positions">},
      %bias: tensor<8xf32> {pm.state = #pm.state<parameter, "bias">},
      %key: tensor<4x8xf32> {pm.state = #pm.state<parameter, "key">})
      -> (tensor<f32> {pm.output = "loss"}, tensor<6x4x10xf32> {pm.output = "logits"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %ignored = stablehlo.constant dense<-100> : tensor<i32>
    %x0 = pm.embedding %table, %ids : (tensor<10x8xf32>, tensor<6x4xi32>) -> tensor<6x4x8xf32>
    %p = stablehlo.slice %positions [0:4, 0:8] : (tensor<16x8xf32>) -> tensor<4x8xf32>
    %pb = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<6x4x8xf32>
    %x1 = stablehlo.add %x0, %pb : tensor<6x4x8xf32>
    %bb = stablehlo.broadcast_in_dim %bias, dims = [2] : (tensor<8xf32>) -> tensor<6x4x8xf32>
    %x = stablehlo.add %x1, %bb : tensor<6x4x8xf32>

    %i = stablehlo.iota dim = 0 : tensor<4x2xf32>
    %f = stablehlo.constant dense<[1.0, 0.25]> : tensor<2xf32>
    %fb = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
    %angle = stablehlo.multiply %i, %fb : tensor<4x2xf32>
    %cos = stablehlo.cosine %angle : tensor<4x2xf32>
    %sin = stablehlo.sine %angle : tensor<4x2xf32>
    %q0 = stablehlo.reshape %x : (tensor<6x4x8xf32>) -> tensor<6x4x2x4xf32>
    %q = pm.rope %q0, %cos, %sin : tensor<6x4x2x4xf32>, tensor<4x2xf32>
    %k0 = stablehlo.dot_general %x, %key, contracting_dims = [2] x [1] : (tensor<6x4x8xf32>, tensor<4x8xf32>) -> tensor<6x4x4xf32>
    %k1 = stablehlo.reshape %k0 : (tensor<6x4x4xf32>) -> tensor<6x4x1x4xf32>
    %k = pm.rope %k1, %cos, %sin : tensor<6x4x1x4xf32>, tensor<4x2xf32>
    %o, %olse = pm.attention %q, %k, %k1 scale 0.5 causal : tensor<6x4x2x4xf32>, tensor<6x4x1x4xf32> -> tensor<6x2x4xf32>
    %h = stablehlo.reshape %o : (tensor<6x4x2x4xf32>) -> tensor<6x4x8xf32>
    %logits = stablehlo.dot_general %h, %table, contracting_dims = [2] x [1] : (tensor<6x4x8xf32>, tensor<10x8xf32>) -> tensor<6x4x10xf32>

    %shifted = stablehlo.slice %labels [0:6, 1:4] : (tensor<6x4xi32>) -> tensor<6x3xi32>
    %last = stablehlo.broadcast_in_dim %ignored, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %targets = stablehlo.concatenate %shifted, %last, dim = 1 : (tensor<6x3xi32>, tensor<6x1xi32>) -> tensor<6x4xi32>
    %ignored_all = stablehlo.broadcast_in_dim %ignored, dims = [] : (tensor<i32>) -> tensor<6x4xi32>
    %counted = stablehlo.compare NE, %targets, %ignored_all : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
    %counted_f = stablehlo.convert %counted : (tensor<6x4xi1>) -> tensor<6x4xf32>
    %total = stablehlo.reduce(%counted_f init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<f32>
    %count = stablehlo.maximum %total, %one : tensor<f32>
    %nll, %lse = pm.cross_entropy %logits, %targets : tensor<6x4x10xf32>, tensor<6x4xi32> -> tensor<6x4xf32>
    %sum = stablehlo.reduce(%nll init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    return %loss, %logits : tensor<f32>, tensor<6x4x10xf32>
  }
}
