// A function whose values explain.test asks for by line: add none above.
module @f {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                         %arg1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %arg2: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<8x16xf32>, tensor<4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    %1, %2 = chlo.top_k(%arg2, k = 4) : tensor<64xf32> -> (tensor<4xf32>, tensor<4xi32>)
    return %0, %1 : tensor<8x16xf32>, tensor<4xf32>
  }
}
