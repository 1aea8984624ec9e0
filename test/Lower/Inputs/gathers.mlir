// What gathers.test lists.
module @f {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                         %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<4xf32>, tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
          tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<12x4xf32>) {
    %0, %1 = chlo.top_k(%a, k = 4) : tensor<64xf32> -> (tensor<4xf32>, tensor<4xi32>)
    %2 = "stablehlo.sort"(%b) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %5 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %3 = stablehlo.exponential %b : tensor<6x4xf32>
    %4 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<3x4xf32>) {
      %7 = stablehlo.negate %c : tensor<3x4xf32>
      %6 = "stablehlo.all_gather"(%7) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<3x4xf32>) -> tensor<6x4xf32>
      sdy.return %6 : tensor<6x4xf32>
    } : (tensor<6x4xf32>) -> tensor<12x4xf32>
    return %0, %2, %3, %4 : tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<12x4xf32>
  }
}
