pm.mesh @mesh = [MESH]

// Key heads, and query heads in groups of three: blocks of their columns.
func.func @heads(
    %x: tensor<5x8xf32>,
    %wk: tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}b8]>},
    %wq: tensor<8x36xf32>) -> tensor<3x3x5x5xf32> {
  %k = stablehlo.dot_general %x, %wk, contracting_dims = [1] x [0] : (tensor<5x8xf32>, tensor<8x12xf32>) -> tensor<5x12xf32>
  %kh = stablehlo.reshape %k : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %q = stablehlo.dot_general %x, %wq, contracting_dims = [1] x [0] : (tensor<5x8xf32>, tensor<8x36xf32>) -> tensor<5x36xf32>
  %q9 = stablehlo.reshape %q : (tensor<5x36xf32>) -> tensor<5x9x4xf32>
  %qh = stablehlo.reshape %q9 : (tensor<5x9x4xf32>) -> tensor<5x3x3x4xf32>
  %s = stablehlo.dot_general %qh, %kh, batching_dims = [1] x [1], contracting_dims = [3] x [2] : (tensor<5x3x3x4xf32>, tensor<5x3x4xf32>) -> tensor<3x5x3x5xf32>
  %t = stablehlo.transpose %s, dims = [0, 2, 1, 3] : (tensor<3x5x3x5xf32>) -> tensor<3x3x5x5xf32>
  return %t : tensor<3x3x5x5xf32>
}

// A sum over rounds, made whole behind the loop, and a value that changes.
func.func @accumulate(
    %x: tensor<10x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<10x3xf32>,
    %w: tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x3xf32>, tensor<10x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  %r:3 = stablehlo.while(%i = %zero, %s = %zeros, %v = %x) : tensor<i32>, tensor<4x3xf32>, tensor<10x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %v, %y, contracting_dims = [0] x [0] : (tensor<10x4xf32>, tensor<10x3xf32>) -> tensor<4x3xf32>
    %t = stablehlo.add %s, %g : tensor<4x3xf32>
    %p = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<10x4xf32>, tensor<4x4xf32>) -> tensor<10x4xf32>
    %u = stablehlo.tanh %p : tensor<10x4xf32>
    stablehlo.return %j, %t, %u : tensor<i32>, tensor<4x3xf32>, tensor<10x4xf32>
  }
  return %r#1, %r#2 : tensor<4x3xf32>, tensor<10x4xf32>
}

// Sums of all branches, and different ones.
func.func @choose(
    %i: tensor<i32>,
    %x: tensor<10x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x4xf32>, tensor<f32>) -> tensor<4xf32>
  %t = stablehlo.negate %s : tensor<4xf32>
  %r:2 = "stablehlo.case"(%i) ({
    stablehlo.return %s, %w : tensor<4xf32>, tensor<4xf32>
  }, {
    %u = stablehlo.tanh %s : tensor<4xf32>
    stablehlo.return %zeros, %u : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// An axis that goes on in two dimensions, fewer rows than ranks, merged ones.
func.func @reshapes(
    %a: tensor<8x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<3x5xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x4x3xf32>, tensor<15xf32>) {
  %0 = stablehlo.reshape %a : (tensor<8x3xf32>) -> tensor<2x4x3xf32>
  %1 = stablehlo.tanh %0 : tensor<2x4x3xf32>
  %2 = stablehlo.reshape %b : (tensor<3x5xf32>) -> tensor<15xf32>
  %3 = stablehlo.negate %2 : tensor<15xf32>
  return %1, %3 : tensor<2x4x3xf32>, tensor<15xf32>
}
