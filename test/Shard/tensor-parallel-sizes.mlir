// RUN: not pmopt %s --pm-apply-strategy=strategy=tp=4 --split-input-file 2>&1 | FileCheck %s

// Columns that are joined by the way can only be cut evenly.
// CHECK: error: {{.*}}tp=4 does not divide the 5 columns of 'w1'; tp can be 1, 5
func.func @columns(
    %x: tensor<2x8xf32> {pm.input = "x"},
    %w1: tensor<8x10xf32> {pm.state = #pm.state<parameter, "w1">},
    %w2: tensor<10x8xf32> {pm.state = #pm.state<parameter, "w2">}) -> tensor<2x8xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x10xf32>) -> tensor<2x10xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x10xf32>) -> tensor<2x5x2xf32>
  %2 = stablehlo.tanh %1 : tensor<2x5x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x5x2xf32>) -> tensor<2x10xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// Four ranks would share one key-value head here and two there.
// CHECK: error: {{.*}}tp=4 lets groups of ranks share the 1 key-value heads of one attention, which does not suit the 2 of 'second'; tp can be 1 to 3
func.func @two_kinds_of_groups(
    %x: tensor<2x6x8xf32> {pm.input = "x"},
    %q1: tensor<16x8xf32> {pm.state = #pm.state<parameter, "q1">},
    %k1: tensor<4x8xf32> {pm.state = #pm.state<parameter, "k1">},
    %q2: tensor<16x8xf32> {pm.state = #pm.state<parameter, "q2">},
    %k2: tensor<8x8xf32> {pm.state = #pm.state<parameter, "k2">}) -> (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) {
  %0 = stablehlo.dot_general %x, %q1, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<16x8xf32>) -> tensor<2x6x16xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x6x16xf32>) -> tensor<2x6x4x4xf32>
  %2 = stablehlo.dot_general %x, %k1, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<4x8xf32>) -> tensor<2x6x4xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x6x4xf32>) -> tensor<2x6x1x4xf32>
  %a, %lse = pm.attention %1, %3, %3 scale 0.5 causal : tensor<2x6x4x4xf32>, tensor<2x6x1x4xf32> -> tensor<2x4x6xf32> loc("first")
  %4 = stablehlo.dot_general %x, %q2, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<16x8xf32>) -> tensor<2x6x16xf32>
  %5 = stablehlo.reshape %4 : (tensor<2x6x16xf32>) -> tensor<2x6x4x4xf32>
  %6 = stablehlo.dot_general %x, %k2, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<8x8xf32>) -> tensor<2x6x8xf32>
  %7 = stablehlo.reshape %6 : (tensor<2x6x8xf32>) -> tensor<2x6x2x4xf32>
  %b, %lse2 = pm.attention %5, %7, %7 scale 0.5 causal : tensor<2x6x4x4xf32>, tensor<2x6x2x4xf32> -> tensor<2x4x6xf32> loc("second")
  return %a, %b : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>
}
