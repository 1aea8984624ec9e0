// RUN: pmopt %s --pm-apply-strategy=strategy=tp=4 --split-input-file -verify-diagnostics | FileCheck %s

// expected-warning@below {{tp=4 finds nothing to cut: no attention, no pair of products with parameters, no embedding and no loss over a vocabulary; everything is replicated over tp}}
module {
  // CHECK-LABEL: func.func @one_product_is_no_pair
  // CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
  func.func @one_product_is_no_pair(
      %x: tensor<2x8xf32> {pm.input = "x"},
      %w: tensor<8x8xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<2x8xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
}

// -----

// CHECK-LABEL: func.func @keys_from_outside
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<16x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<9x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>
func.func @keys_from_outside(
    %x: tensor<2x6xi32> {pm.input = "input_ids"},
    %k: tensor<2x6x4x4xf32> {pm.input = "keys"},
    %wq: tensor<16x8xf32> {pm.state = #pm.state<parameter, "wq">},
    %table: tensor<9x8xf32> {pm.state = #pm.state<parameter, "table">}) -> tensor<2x6x4x4xf32> {
  %e = pm.embedding %table, %x : (tensor<9x8xf32>, tensor<2x6xi32>) -> tensor<2x6x8xf32>
  %q0 = stablehlo.dot_general %e, %wq, contracting_dims = [2] x [1] : (tensor<2x6x8xf32>, tensor<16x8xf32>) -> tensor<2x6x16xf32>
  %q = stablehlo.reshape %q0 : (tensor<2x6x16xf32>) -> tensor<2x6x4x4xf32>
  // expected-remark@below {{tp=4 leaves this attention whole: its heads come from an input of the step}}
  %a, %lse = pm.attention %q, %k, %k scale 0.5 causal : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32> -> tensor<2x4x6xf32>
  return %a : tensor<2x6x4x4xf32>
}
