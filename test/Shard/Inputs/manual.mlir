// ROWS = PIECE for each rank of x.
#s = #pm.sharding<@mesh, []>
#w = #pm.sharding<@mesh, [{}, {}]>
#x = #pm.sharding<@mesh, [{"x"}, {}]>
#xy = #pm.sharding<@mesh, [{"x"}, {"y"}]>
#y = #pm.sharding<@mesh, [{}, {"y"}]>
#yrows = #pm.sharding<@mesh, [{"y"}, {}]>
#both = #pm.sharding<@mesh, [{"x", "y"}, {}]>
#v = #pm.sharding<@mesh, [{}]>
#vy = #pm.sharding<@mesh, [{"y"}]>
#vx = #pm.sharding<@mesh, [{"x"}]>
#vsum = #pm.sharding<@mesh, [{}], partial = sum{"y"}>
pm.mesh @mesh = [MESH]

// Sums, gathers and scatters over the manual axis; columns are cut over the other one.
func.func @collectives(%a: tensor<ROWSx6xf32> {pm.sharding = #xy}, %b: tensor<6x6xf32> {pm.sharding = #w}) -> (tensor<PIECEx6xf32> {pm.sharding = #y}, tensor<ROWSx6xf32> {pm.sharding = #xy}, tensor<ROWSx6xf32> {pm.sharding = #xy}) {
  %r:3 = pm.manual_computation(%a, %b) in [#pm.sharding<@mesh, [{"x"}, {"y"}]>, #w] out [#y, #xy, #xy] manual ["x"] on @mesh
      {pm.shardings = [#y, #xy, #xy]} : (tensor<ROWSx6xf32>, tensor<6x6xf32>) -> (tensor<PIECEx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>) {
  ^bb0(%own: tensor<PIECEx6xf32>, %all: tensor<6x6xf32>):
    %sum = pm.all_reduce sum(%own) over ["x"] on @mesh {pm.shardings = [#y]} : tensor<PIECEx6xf32>
    %whole = pm.all_gather %own dim 0 over ["x"] on @mesh {pm.shardings = [#y]} : (tensor<PIECEx6xf32>) -> tensor<ROWSx6xf32>
    %back = pm.reduce_scatter %whole max dim 0 over ["x"] on @mesh {pm.shardings = [#y]} : (tensor<ROWSx6xf32>) -> tensor<PIECEx6xf32>
    %index = pm.axis_index "x" on @mesh {pm.shardings = [#s]} : tensor<i32>
    %f = stablehlo.convert %index {pm.shardings = [#s]} : (tensor<i32>) -> tensor<f32>
    %spread = stablehlo.broadcast_in_dim %f, dims = [] {pm.shardings = [#y]} : (tensor<f32>) -> tensor<PIECEx6xf32>
    %places = stablehlo.iota dim = 1 {pm.shardings = [#y]} : tensor<PIECEx6xf32>
    %scaled = stablehlo.multiply %spread, %places {pm.shardings = [#y]} : tensor<PIECEx6xf32>
    %shifted = stablehlo.add %own, %scaled {pm.shardings = [#y]} : tensor<PIECEx6xf32>
    pm.return %sum, %back, %shifted : tensor<PIECEx6xf32>, tensor<PIECEx6xf32>, tensor<PIECEx6xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<PIECEx6xf32>, tensor<ROWSx6xf32>, tensor<ROWSx6xf32>
}

// Rows are cut by hand over x, and over y within that: blocks of a block, which the
// blocks over both axes are only where all divides.
func.func @rows_within_rows(%a: tensor<ROWSx6xf32> {pm.sharding = #both}, %b: tensor<ROWSx6xf32> {pm.sharding = #w}) -> (tensor<ROWSx6xf32> {pm.sharding = #both}, tensor<6xf32> {pm.sharding = #v}, tensor<ROWSx6xf32> {pm.sharding = #both}) {
  %zero = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %r:3 = pm.manual_computation(%a, %b) in [#both, #both] out [#both, #v, #x] manual ["x"] on @mesh
      {pm.shardings = [#both, #v, #both]} : (tensor<ROWSx6xf32>, tensor<ROWSx6xf32>) -> (tensor<ROWSx6xf32>, tensor<6xf32>, tensor<ROWSx6xf32>) {
  ^bb0(%own: tensor<PIECEx6xf32>, %other: tensor<PIECEx6xf32>):
    %places = stablehlo.iota dim = 0 {pm.shardings = [#yrows]} : tensor<PIECEx6xf32>
    %product = stablehlo.multiply %own, %places {pm.shardings = [#yrows]} : tensor<PIECEx6xf32>
    %mixed = stablehlo.add %product, %other {pm.shardings = [#yrows]} : tensor<PIECEx6xf32>
    %columns = stablehlo.reduce(%mixed init: %zero) applies stablehlo.add across dimensions = [0] {pm.shardings = [#vsum]} : (tensor<PIECEx6xf32>, tensor<f32>) -> tensor<6xf32>
    %made = pm.reshard %columns from <@mesh, [{}], partial = sum{"y"}> to <@mesh, [{}]> {pm.shardings = [#v]} : tensor<6xf32>
    %sum = pm.all_reduce sum(%made) over ["x"] on @mesh {pm.shardings = [#v]} : tensor<6xf32>
    pm.return %mixed, %sum, %product : tensor<PIECEx6xf32>, tensor<6xf32>, tensor<PIECEx6xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<ROWSx6xf32>, tensor<6xf32>, tensor<ROWSx6xf32>
}

// One within another, with a loop inside and a value from outside.
func.func @nested(%a: tensor<ROWSx6xf32> {pm.sharding = #x}, %c: tensor<6xf32> {pm.sharding = #v}) -> (tensor<ROWSx6xf32> {pm.sharding = #xy}) {
  %r = pm.manual_computation(%a) in [#x] out [#x] manual ["x"] on @mesh
      {pm.shardings = [#xy]} : (tensor<ROWSx6xf32>) -> tensor<ROWSx6xf32> {
  ^bb0(%own: tensor<PIECEx6xf32>):
    %i = pm.manual_computation(%own) in [#y] out [#y] manual ["y"] on @mesh
        {pm.shardings = [#y]} : (tensor<PIECEx6xf32>) -> tensor<PIECEx6xf32> {
    ^bb0(%piece: tensor<PIECExCOLUMNSxf32>):
      %zero = stablehlo.constant {pm.shardings = [#s]} dense<0> : tensor<i32>
      %one = stablehlo.constant {pm.shardings = [#s]} dense<1> : tensor<i32>
      %n = pm.axis_index "y" on @mesh {pm.shardings = [#s]} : tensor<i32>
      %top = pm.all_reduce max(%n) over ["y"] on @mesh {pm.shardings = [#s]} : tensor<i32>
      %l:2 = stablehlo.while(%k = %zero, %v = %piece) : tensor<i32>, tensor<PIECExCOLUMNSxf32> attributes {pm.shardings = [#s, #w]}
      cond {
        %more = stablehlo.compare LE, %k, %top, SIGNED {pm.shardings = [#s]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %k, %one {pm.shardings = [#s]} : tensor<i32>
        %sum = pm.all_reduce sum(%v) over ["x", "y"] on @mesh {pm.shardings = [#w]} : tensor<PIECExCOLUMNSxf32>
        %mixed = stablehlo.subtract %sum, %v {pm.shardings = [#w]} : tensor<PIECExCOLUMNSxf32>
        stablehlo.return %next, %mixed : tensor<i32>, tensor<PIECExCOLUMNSxf32>
      }
      pm.return %l#1 : tensor<PIECExCOLUMNSxf32>
    }
    %spread = stablehlo.broadcast_in_dim %c, dims = [1] {pm.shardings = [#w]} : (tensor<6xf32>) -> tensor<PIECEx6xf32>
    %wide = pm.reshard %i from <@mesh, [{}, {"y"}]> to <@mesh, [{}, {}]> {pm.shardings = [#w]} : tensor<PIECEx6xf32>
    %sum = stablehlo.add %wide, %spread {pm.shardings = [#w]} : tensor<PIECEx6xf32>
    pm.return %sum : tensor<PIECEx6xf32>
  }
  return %r : tensor<ROWSx6xf32>
}
