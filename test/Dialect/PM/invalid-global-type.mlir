// RUN: pmopt %s --split-input-file --verify-diagnostics

// The type of the whole value has the rank of its blocks.
// expected-error @below {{'pm.global_type' must be a tensor type of the rank of 'tensor<3xf32>', but is tensor<7x2xf32>}}
func.func @other_rank(%x: tensor<3xf32> {pm.global_type = tensor<7x2xf32>}) {
  return
}

// -----

// expected-error @below {{'pm.global_type' must be a tensor type of the rank of 'tensor<3xf32>', but is 7 : i64}}
func.func @no_type(%x: tensor<3xf32> {pm.global_type = 7 : i64}) {
  return
}

// -----

// expected-error @below {{'pm.global_type' must be a tensor type of the rank of 'tensor<3xf32>', but is f32}}
func.func @result(%x: tensor<3xf32>) -> (tensor<3xf32> {pm.global_type = f32}) {
  return %x : tensor<3xf32>
}
