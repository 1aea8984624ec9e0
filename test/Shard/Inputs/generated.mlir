// Constants and places of every type, by blocks; values behind a barrier.
#v = #pm.sharding<@mesh, [{"x"}BLOCK]>
#m = #pm.sharding<@mesh, [{"y"}, {"x"}BLOCK]>
#t = #pm.sharding<@mesh, [{"x", "y"}, {}]>
#e = #pm.sharding<@mesh, [{"x"}, {"y"}]>
#n = #pm.sharding<@mesh, [{"y", "x"}]>
pm.mesh @mesh = [MESH]

func.func @constants() -> (tensor<5xf32> {pm.sharding = #v}, tensor<5xi1> {pm.sharding = #v}, tensor<5xui8> {pm.sharding = #v}, tensor<2x5xi64> {pm.sharding = #m}, tensor<7x1xbf16> {pm.sharding = #t}, tensor<0x3xf32> {pm.sharding = #e}, tensor<1xi32> {pm.sharding = #n}, tensor<5xf16> {pm.sharding = #v}) {
  %0 = stablehlo.constant {pm.shardings = [#v]} dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %1 = stablehlo.constant {pm.shardings = [#v]} dense<[true, false, true, true, false]> : tensor<5xi1>
  %2 = stablehlo.constant {pm.shardings = [#v]} dense<[250, 251, 252, 253, 254]> : tensor<5xui8>
  %3 = stablehlo.constant {pm.shardings = [#m]} dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]> : tensor<2x5xi64>
  %4 = stablehlo.constant {pm.shardings = [#t]} dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]> : tensor<7x1xbf16>
  %5 = stablehlo.constant {pm.shardings = [#e]} dense<> : tensor<0x3xf32>
  %6 = stablehlo.constant {pm.shardings = [#n]} dense<[9]> : tensor<1xi32>
  %7 = stablehlo.constant {pm.shardings = [#v]} dense<3.0> : tensor<5xf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<5xf32>, tensor<5xi1>, tensor<5xui8>, tensor<2x5xi64>, tensor<7x1xbf16>, tensor<0x3xf32>, tensor<1xi32>, tensor<5xf16>
}

func.func @complex_numbers() -> (tensor<5xf32> {pm.sharding = #v}, tensor<5xf32> {pm.sharding = #v}, tensor<5xf32> {pm.sharding = #v}) {
  %0 = stablehlo.constant {pm.shardings = [#v]} dense<[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0), (9.0, 0.0)]> : tensor<5xcomplex<f32>>
  %1 = stablehlo.constant {pm.shardings = [#v]} dense<(1.0, 2.0)> : tensor<5xcomplex<f32>>
  %2 = stablehlo.iota dim = 0 {pm.shardings = [#v]} : tensor<5xcomplex<f32>>
  %sum = stablehlo.add %0, %1 {pm.shardings = [#v]} : tensor<5xcomplex<f32>>
  %re = stablehlo.real %sum {pm.shardings = [#v]} : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
  %im = stablehlo.imag %sum {pm.shardings = [#v]} : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
  %at = stablehlo.real %2 {pm.shardings = [#v]} : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
  return %re, %im, %at : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

func.func @barrier(%a: tensor<5xf32> {pm.sharding = #v}, %b: tensor<2x5xi32> {pm.sharding = #m}) -> (tensor<5xf32> {pm.sharding = #v}, tensor<2x5xi32> {pm.sharding = #m}) {
  %r:2 = stablehlo.optimization_barrier {pm.shardings = [#v, #m]} %a, %b : tensor<5xf32>, tensor<2x5xi32>
  return %r#0, %r#1 : tensor<5xf32>, tensor<2x5xi32>
}
