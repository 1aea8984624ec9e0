// RUN: pmopt %s --split-input-file --verify-diagnostics

// expected-error@below {{'pm.stored_shape' array<i64: 8, 25> has 200 elements, but the value of type 'tensor<8x3x8xf32>' has 192}}
func.func @stored_elements(%w: tensor<8x3x8xf32> {pm.stored_shape = array<i64: 8, 25>}) {
  return
}

// -----

// expected-error@below {{'pm.stored_shape' must be an array<i64> for a tensor of static shape, but is "8x24" for 'tensor<8x3x8xf32>'}}
func.func @stored_text(%w: tensor<8x3x8xf32> {pm.stored_shape = "8x24"}) {
  return
}

// -----

// expected-error@below {{'pm.schedule' must be the name of a schedule, but is 1 : i64}}
module attributes {pm.schedule = 1 : i64} {
}

// -----

// expected-error @below {{expected 'replicated', or the end of the sharding}}
func.func @partial_twice(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"dp"}, partial = sum{"tp"}>})

// -----

// expected-error @below {{has more than 1048576 ranks with the axis 'y' of size 2097152}}
pm.mesh @mesh = [<"x", spatial = 4>, <"y", spatial = 2097152>]

// -----

// expected-error @below {{has more than 1048576 micro-batches with the axis 'mb' of size 2147483648}}
pm.mesh @mesh = [<"mb", temporal = 2147483648>]

// -----

// expected-error @below {{'pm.actions' must be a list of strings, one for each rank, but is [1]}}
module attributes {pm.actions = [1]} {
}

// -----

// expected-error @below {{'pm.stage_layers' must be an array<i64>, a number for each stage, but is [2, 2]}}
module attributes {pm.stage_layers = [2, 2]} {
}

// -----

// expected-error @below {{a block has at most 1099511627776 elements, but found 'b9223372036854775807'}}
func.func @long_block(%x: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}b9223372036854775807]>})
