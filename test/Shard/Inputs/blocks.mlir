// Blocks of a given size: HEADS query heads in groups of three, WIDTH = HEADS * 4
// columns. HB, KB and CB are the blocks of heads, key heads and columns.
#s = #pm.sharding<@mesh, []>
#w = #pm.sharding<@mesh, [{}, {}]>
#cols = #pm.sharding<@mesh, [{}, {"x"}CB]>
#colrows = #pm.sharding<@mesh, [{"x"}CB, {}]>
#kcols = #pm.sharding<@mesh, [{}, {"x"}DB]>
#heads = #pm.sharding<@mesh, [{}, {"x"}HB, {}]>
#kheads = #pm.sharding<@mesh, [{}, {"x"}KB, {}]>
#scores = #pm.sharding<@mesh, [{}, {"x"}HB]>
#groups = #pm.sharding<@mesh, [{}, {"x"}KB, {}, {}]>
#sum = #pm.sharding<@mesh, [{}], partial = sum{"x"}>
#max = #pm.sharding<@mesh, [{}], partial = max{"x"}>
#out = #pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>
#v = #pm.sharding<@mesh, [{}]>
#h = #pm.sharding<@mesh, [{"x"}HB]>
pm.mesh @mesh = [MESH]

func.func @attention(%q: tensor<5xWIDTHxf32> {pm.sharding = #cols}, %k: tensor<5xKWIDTHxf32> {pm.sharding = #kcols}, %wo: tensor<WIDTHx3xf32> {pm.sharding = #colrows})
    -> (tensor<5x3xf32> {pm.sharding = #w}, tensor<5xf32> {pm.sharding = #v}, tensor<5xf32> {pm.sharding = #v}, tensor<5xWIDTHxf32> {pm.sharding = #cols}) {
  %zero = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %low = stablehlo.constant {pm.shardings = [#s]} dense<0xFF800000> : tensor<f32>
  %qh = stablehlo.reshape %q {pm.shardings = [#heads]} : (tensor<5xWIDTHxf32>) -> tensor<5xHEADSx4xf32>
  %kh = stablehlo.reshape %k {pm.shardings = [#kheads]} : (tensor<5xKWIDTHxf32>) -> tensor<5xKHEADSx4xf32>
  %kg = stablehlo.broadcast_in_dim %kh, dims = [0, 1, 3] {pm.shardings = [#groups]} : (tensor<5xKHEADSx4xf32>) -> tensor<5xKHEADSx3x4xf32>
  %ka = stablehlo.reshape %kg {pm.shardings = [#heads]} : (tensor<5xKHEADSx3x4xf32>) -> tensor<5xHEADSx4xf32>
  %d = stablehlo.dot_general %qh, %ka, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] {pm.shardings = [#scores]} : (tensor<5xHEADSx4xf32>, tensor<5xHEADSx4xf32>) -> tensor<5xHEADSxf32>
  %own = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] {pm.shardings = [#sum]} : (tensor<5xHEADSxf32>, tensor<f32>) -> tensor<5xf32>
  %all = pm.reshard %own from <@mesh, [{}], partial = sum{"x"}> to <@mesh, [{}]> {pm.shardings = [#v]} : tensor<5xf32>
  %ownmax = stablehlo.reduce(%d init: %low) applies stablehlo.maximum across dimensions = [1] {pm.shardings = [#max]} : (tensor<5xHEADSxf32>, tensor<f32>) -> tensor<5xf32>
  %allmax = pm.reshard %ownmax from <@mesh, [{}], partial = max{"x"}> to <@mesh, [{}]> {pm.shardings = [#v]} : tensor<5xf32>
  %e = stablehlo.exponential %qh {pm.shardings = [#heads]} : tensor<5xHEADSx4xf32>
  %places = stablehlo.iota dim = 1 {pm.shardings = [#heads]} : tensor<5xHEADSx4xf32>
  %m = stablehlo.multiply %e, %places {pm.shardings = [#heads]} : tensor<5xHEADSx4xf32>
  %back = stablehlo.reshape %m {pm.shardings = [#cols]} : (tensor<5xHEADSx4xf32>) -> tensor<5xWIDTHxf32>
  %p = stablehlo.dot_general %back, %wo, contracting_dims = [1] x [0] {pm.shardings = [#out]} : (tensor<5xWIDTHxf32>, tensor<WIDTHx3xf32>) -> tensor<5x3xf32>
  %made = pm.reshard %p from <@mesh, [{}, {}], partial = sum{"x"}> to <@mesh, [{}, {}]> {pm.shardings = [#w]} : tensor<5x3xf32>
  return %made, %all, %allmax, %back : tensor<5x3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xWIDTHxf32>
}

// Of every type: a place is counted before it is rounded or wraps.
func.func @iotas() -> (tensor<HEADSxi8> {pm.sharding = #h}, tensor<HEADSxui8> {pm.sharding = #h}, tensor<HEADSxi64> {pm.sharding = #h}, tensor<HEADSxbf16> {pm.sharding = #h}, tensor<HEADSxf64> {pm.sharding = #h}, tensor<HEADSxui32> {pm.sharding = #h}) {
  %0 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxi8>
  %1 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxui8>
  %2 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxi64>
  %3 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxbf16>
  %4 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxf64>
  %5 = stablehlo.iota dim = 0 {pm.shardings = [#h]} : tensor<HEADSxui32>
  return %0, %1, %2, %3, %4, %5 : tensor<HEADSxi8>, tensor<HEADSxui8>, tensor<HEADSxi64>, tensor<HEADSxbf16>, tensor<HEADSxf64>, tensor<HEADSxui32>
}
