// RUN: not pmopt %s --pm-apply-strategy=strategy=tp=13 2>&1 | FileCheck %s --check-prefix=QUERIES
// RUN: not pmopt %s --pm-apply-strategy=strategy=tp=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: pmopt %s --pm-apply-strategy=strategy=tp=6 2>&1 | FileCheck %s --check-prefix=IDLE

// QUERIES: error: {{.*}}tp=13 is more than the 12 query heads of 'layers.0.attention'; tp can be 1 to 12
// ZERO: error: strategy 'tp=0': 'tp' must be at least 1, but is 0
// IDLE: warning: {{.*}}tp=6 leaves 2 of 6 ranks without a part of this attention, whose 4 key-value heads stay whole
func.func @main(
    %x: tensor<2x6x8xf32> {pm.input = "x"},
    %wq: tensor<24x8xf32> {pm.state = #pm.state<parameter, "wq">},
    %wk: tensor<8x8xf32> {pm.state = #pm.state<parameter, "wk">},
    %w1: tensor<8x20xf32> {pm.state = #pm.state<parameter, "w1">},
    %w2: tensor<20x8xf32> {pm.state = #pm.state<parameter, "w2">}) -> (tensor<2x6x12x2xf32>, tensor<2x6x8xf32>) {
  %q0 = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<24x8xf32>) -> tensor<2x6x24xf32>
  %q = stablehlo.reshape %q0 : (tensor<2x6x24xf32>) -> tensor<2x6x12x2xf32>
  %k0 = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<8x8xf32>) -> tensor<2x6x8xf32>
  %k = stablehlo.reshape %k0 : (tensor<2x6x8xf32>) -> tensor<2x6x4x2xf32>
  %a, %lse = pm.attention %q, %k, %k scale 0.5 causal : tensor<2x6x12x2xf32>, tensor<2x6x4x2xf32> -> tensor<2x12x6xf32> loc("layers.0.attention")
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [2] x [0] : (tensor<2x6x8xf32>, tensor<8x20xf32>) -> tensor<2x6x20xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [2] x [0] : (tensor<2x6x20xf32>, tensor<20x8xf32>) -> tensor<2x6x8xf32>
  return %a, %y : tensor<2x6x12x2xf32>, tensor<2x6x8xf32>
}
