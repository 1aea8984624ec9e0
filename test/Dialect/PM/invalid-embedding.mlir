// RUN: pmopt %s -split-input-file -verify-diagnostics

func.func @padding_beyond_the_table(%table: tensor<16x8xf32>, %ids: tensor<2xi32>) {
  // expected-error @+1 {{'pm.embedding' op pads with the id 16, which is no row of a table of 16}}
  %x = pm.embedding %table, %ids padding 16 : (tensor<16x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @rows_of_another_shape(%table: tensor<16x8xf32>, %ids: tensor<2xi32>) {
  // expected-error @+1 {{'pm.embedding' op the result must be 'tensor<2x8xf32>', but is 'tensor<2x4xf32>'}}
  %x = pm.embedding %table, %ids : (tensor<16x8xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}
