// RUN: pmopt %s --pm-apply-strategy=strategy=tp=2 --split-input-file | FileCheck %s
// RUN: pmopt %s --pm-apply-strategy=strategy=dp=2,tp=2 --split-input-file -o /dev/null

// Queries, keys and values by columns with their biases, through norms, rotation
// and reshapes; the output by rows, its bias whole; the norm's weight whole.
// CHECK-LABEL: func.func @attention_is_cut_by_heads
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<2x6x8xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}, {}]>}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>
func.func @attention_is_cut_by_heads(
    %x: tensor<2x6x8xf32> {pm.input = "x"},
    %wq: tensor<16x8xf32> {pm.state = #pm.state<parameter, "wq">},
    %bq: tensor<16xf32> {pm.state = #pm.state<parameter, "bq">},
    %wk: tensor<8x8xf32> {pm.state = #pm.state<parameter, "wk">},
    %wv: tensor<8x8xf32> {pm.state = #pm.state<parameter, "wv">},
    %norm: tensor<4xf32> {pm.state = #pm.state<parameter, "norm">},
    %wo: tensor<8x16xf32> {pm.state = #pm.state<parameter, "wo">},
    %bo: tensor<8xf32> {pm.state = #pm.state<parameter, "bo">},
    %cos: tensor<6x2xf32> {pm.input = "cos"},
    %sin: tensor<6x2xf32> {pm.input = "sin"}) -> tensor<2x6x8xf32> {
  %q0 = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<16x8xf32>) -> tensor<2x6x16xf32>
  %q1 = stablehlo.broadcast_in_dim %bq, dims = [2] : (tensor<16xf32>) -> tensor<2x6x16xf32>
  %q2 = stablehlo.add %q0, %q1 : tensor<2x6x16xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<2x6x16xf32>) -> tensor<2x6x4x4xf32>
  %q4, %rstd = pm.rms_norm %q3, %norm epsilon 1.0e-5 : tensor<2x6x4x4xf32>, tensor<4xf32> -> tensor<2x6x4xf32>
  %q = pm.rope %q4, %cos, %sin : tensor<2x6x4x4xf32>, tensor<6x2xf32>
  %k0 = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<8x8xf32>) -> tensor<2x6x8xf32>
  %k = stablehlo.reshape %k0 : (tensor<2x6x8xf32>) -> tensor<2x6x2x4xf32>
  %v0 = stablehlo.dot_general %x, %wv, contracting_dims = [2] x [0] : (tensor<2x6x8xf32>, tensor<8x8xf32>) -> tensor<2x6x8xf32>
  %v = stablehlo.reshape %v0 : (tensor<2x6x8xf32>) -> tensor<2x6x2x4xf32>
  %a, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<2x6x4x4xf32>, tensor<2x6x2x4xf32> -> tensor<2x4x6xf32>
  %a1 = stablehlo.reshape %a : (tensor<2x6x4x4xf32>) -> tensor<2x6x16xf32>
  %o = stablehlo.dot_general %a1, %wo, contracting_dims = [2] x [1] : (tensor<2x6x16xf32>, tensor<8x16xf32>) -> tensor<2x6x8xf32>
  %o1 = stablehlo.broadcast_in_dim %bo, dims = [2] : (tensor<8xf32>) -> tensor<2x6x8xf32>
  %y = stablehlo.add %o, %o1 : tensor<2x6x8xf32>
  return %y : tensor<2x6x8xf32>
}

// -----

// One joined weight with a dimension for its three parts: the width of each.
// CHECK-LABEL: func.func @joined_projection
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
func.func @joined_projection(
    %x: tensor<2x6x8xf32> {pm.input = "x"},
    %w: tensor<8x3x8xf32> {pm.state = #pm.state<parameter, "w">, pm.stored_shape = array<i64: 8, 24>},
    %b: tensor<3x8xf32> {pm.state = #pm.state<parameter, "b">, pm.stored_shape = array<i64: 24>},
    %wo: tensor<8x8xf32> {pm.state = #pm.state<parameter, "wo">}) -> tensor<2x6x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x6x8xf32>, tensor<8x3x8xf32>) -> tensor<2x6x3x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [2, 3] : (tensor<3x8xf32>) -> tensor<2x6x3x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x6x3x8xf32>
  %q0 = stablehlo.slice %2 [0:2, 0:6, 0:1, 0:8] : (tensor<2x6x3x8xf32>) -> tensor<2x6x1x8xf32>
  %q = stablehlo.reshape %q0 : (tensor<2x6x1x8xf32>) -> tensor<2x6x2x4xf32>
  %k0 = stablehlo.slice %2 [0:2, 0:6, 1:2, 0:8] : (tensor<2x6x3x8xf32>) -> tensor<2x6x1x8xf32>
  %k = stablehlo.reshape %k0 : (tensor<2x6x1x8xf32>) -> tensor<2x6x2x4xf32>
  %v0 = stablehlo.slice %2 [0:2, 0:6, 2:3, 0:8] : (tensor<2x6x3x8xf32>) -> tensor<2x6x1x8xf32>
  %v = stablehlo.reshape %v0 : (tensor<2x6x1x8xf32>) -> tensor<2x6x2x4xf32>
  %a, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32> -> tensor<2x2x6xf32>
  %a1 = stablehlo.reshape %a : (tensor<2x6x2x4xf32>) -> tensor<2x6x8xf32>
  %o = stablehlo.dot_general %a1, %wo, contracting_dims = [2] x [0] : (tensor<2x6x8xf32>, tensor<8x8xf32>) -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----

// Gate and up by columns, down by rows; the next pair begins after it. Moments
// and gradients as their parameter.
// CHECK-LABEL: func.func @products_in_pairs
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x32xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<32x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<moment1, "up">}
// CHECK-SAME: -> (tensor<2x6xf32>, tensor<16x8xf32> {pm.name = "up", pm.output = "gradient", pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>})
func.func @products_in_pairs(
    %x: tensor<2x8xf32> {pm.input = "x"},
    %gate: tensor<8x16xf32> {pm.state = #pm.state<parameter, "gate">},
    %up: tensor<16x8xf32> {pm.state = #pm.state<parameter, "up">},
    %down: tensor<16x8xf32> {pm.state = #pm.state<parameter, "down">},
    %w3: tensor<8x32xf32> {pm.state = #pm.state<parameter, "w3">},
    %w4: tensor<32x8xf32> {pm.state = #pm.state<parameter, "w4">},
    %w5: tensor<8x6xf32> {pm.state = #pm.state<parameter, "w5">},
    %m: tensor<16x8xf32> {pm.state = #pm.state<moment1, "up">})
    -> (tensor<2x6xf32>, tensor<16x8xf32> {pm.output = "gradient", pm.name = "up"}) {
  %0 = stablehlo.dot_general %x, %gate, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
  %t = stablehlo.transpose %up, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
  %2 = stablehlo.logistic %0 : tensor<2x16xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<2x16xf32>
  %4 = stablehlo.dot_general %3, %down, contracting_dims = [1] x [0] : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  %5 = stablehlo.tanh %4 : tensor<2x8xf32>
  %6 = stablehlo.dot_general %5, %w3, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
  %7 = stablehlo.tanh %6 : tensor<2x32xf32>
  %8 = stablehlo.dot_general %7, %w4, contracting_dims = [1] x [0] : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %9 = stablehlo.dot_general %8, %w5, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  return %9, %up : tensor<2x6xf32>, tensor<16x8xf32>
}

// -----

// A residual joins what is whole, so the product behind it is not one by rows.
// CHECK-LABEL: func.func @residuals_end_a_pair
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
func.func @residuals_end_a_pair(
    %x: tensor<2x8xf32> {pm.input = "x"},
    %w1: tensor<8x16xf32> {pm.state = #pm.state<parameter, "w1">},
    %w2: tensor<16x8xf32> {pm.state = #pm.state<parameter, "w2">},
    %w3: tensor<8x6xf32> {pm.state = #pm.state<parameter, "w3">}) -> tensor<2x6xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
  %1 = stablehlo.tanh %0 : tensor<2x16xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  %3 = stablehlo.add %x, %2 : tensor<2x8xf32>
  %4 = stablehlo.dot_general %3, %w3, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// -----

// A tied weight is cut along the vocabulary, which need not divide; positions
// have a table that is whole.
// CHECK-LABEL: func.func @vocabulary
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<11x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<11xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>
func.func @vocabulary(
    %ids: tensor<2x6xi32> {pm.input = "input_ids"},
    %labels: tensor<2x6xi32> {pm.input = "labels"},
    %table: tensor<11x8xf32> {pm.state = #pm.state<parameter, "table">},
    %positions: tensor<6x8xf32> {pm.state = #pm.state<parameter, "positions">},
    %bias: tensor<11xf32> {pm.state = #pm.state<parameter, "bias">}) -> tensor<2x6xf32> {
  %0 = pm.embedding %table, %ids : (tensor<11x8xf32>, tensor<2x6xi32>) -> tensor<2x6x8xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x6xi32>
  %1 = pm.embedding %positions, %i : (tensor<6x8xf32>, tensor<2x6xi32>) -> tensor<2x6x8xf32>
  %x = stablehlo.add %0, %1 : tensor<2x6x8xf32>
  %2 = stablehlo.dot_general %x, %table, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<11x8xf32>) -> tensor<2x6x11xf32>
  %3 = stablehlo.broadcast_in_dim %bias, dims = [2] : (tensor<11xf32>) -> tensor<2x6x11xf32>
  %logits = stablehlo.add %2, %3 : tensor<2x6x11xf32>
  %nll, %lse = pm.cross_entropy %logits, %labels : tensor<2x6x11xf32>, tensor<2x6xi32> -> tensor<2x6xf32>
  return %nll : tensor<2x6xf32>
}

// -----

// Backward products of a step are no pairs of their own.
// CHECK-LABEL: func.func @backward
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
func.func @backward(
    %x: tensor<2x8xf32> {pm.input = "x"},
    %w1: tensor<8x16xf32> {pm.state = #pm.state<parameter, "w1">},
    %table: tensor<3x8xf32> {pm.state = #pm.state<parameter, "table">},
    %ids: tensor<2xi32> {pm.input = "input_ids"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] {pm.phase = "forward"} : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
  %1 = stablehlo.dot_general %0, %w1, contracting_dims = [1] x [1] {pm.phase = "backward"} : (tensor<2x16xf32>, tensor<8x16xf32>) -> tensor<2x8xf32>
  %2 = pm.embedding %table, %ids {pm.phase = "forward"} : (tensor<3x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %1, %2 : tensor<2x8xf32>, tensor<2x8xf32>
}
