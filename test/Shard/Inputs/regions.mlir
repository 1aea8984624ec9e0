// Loops and branches over blocks; ROWS need not divide.
#s = #pm.sharding<@mesh, []>
#w = #pm.sharding<@mesh, [{}, {}]>
#x = #pm.sharding<@mesh, [{"x"}, {}]>
#y = #pm.sharding<@mesh, [{}, {"y"}]>
#xy = #pm.sharding<@mesh, [{"x"}, {"y"}]>
#both = #pm.sharding<@mesh, [{"x", "y"}, {}]>
#sum = #pm.sharding<@mesh, [], partial = sum{"x", "y"}>
#rows = #pm.sharding<@mesh, [{"x"}]>
#rowsum = #pm.sharding<@mesh, [{"x"}], partial = sum{"y"}>
pm.mesh @mesh = [MESH]

// A carry that is cut, one that is whole, an index; values of a block from outside,
// and iotas in the body, which need the block's place.
func.func @loop(%a: tensor<ROWSx6xf32> {pm.sharding = #xy}, %b: tensor<ROWSx6xf32> {pm.sharding = #x}) -> (tensor<ROWSx6xf32> {pm.sharding = #xy}, tensor<f32> {pm.sharding = #s}, tensor<ROWSx6xf32> {pm.sharding = #x}) {
  %zero = stablehlo.constant {pm.shardings = [#s]} dense<0> : tensor<i32>
  %one = stablehlo.constant {pm.shardings = [#s]} dense<1> : tensor<i32>
  %n = stablehlo.constant {pm.shardings = [#s]} dense<3> : tensor<i32>
  %f = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %r:4 = stablehlo.while(%i = %zero, %v = %a, %t = %f, %u = %b) : tensor<i32>, tensor<ROWSx6xf32>, tensor<f32>, tensor<ROWSx6xf32>
  attributes {pm.shardings = [#s, #xy, #s, #x]}
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED {pm.shardings = [#s]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one {pm.shardings = [#s]} : tensor<i32>
    %rows = stablehlo.iota dim = 0 {pm.shardings = [#xy]} : tensor<ROWSx6xf32>
    %columns = stablehlo.iota dim = 1 {pm.shardings = [#xy]} : tensor<ROWSx6xf32>
    %places = stablehlo.multiply %rows, %columns {pm.shardings = [#xy]} : tensor<ROWSx6xf32>
    %sum = stablehlo.add %v, %places {pm.shardings = [#xy]} : tensor<ROWSx6xf32>
    %own = stablehlo.reduce(%sum init: %f) applies stablehlo.add across dimensions = [0, 1] {pm.shardings = [#sum]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<f32>
    %all = pm.reshard %own from <@mesh, [], partial = sum{"x", "y"}> to <@mesh, []> {pm.shardings = [#s]} : tensor<f32>
    %total = stablehlo.add %t, %all {pm.shardings = [#s]} : tensor<f32>
    // Yields that lie otherwise than their carries.
    %swap = stablehlo.negate %u {pm.shardings = [#x]} : tensor<ROWSx6xf32>
    stablehlo.return %next, %swap, %total, %sum : tensor<i32>, tensor<ROWSx6xf32>, tensor<f32>, tensor<ROWSx6xf32>
  }
  return %r#1, %r#2, %r#3 : tensor<ROWSx6xf32>, tensor<f32>, tensor<ROWSx6xf32>
}

// A loop in a loop, whose condition is a sum over ranks.
func.func @nested(%a: tensor<ROWSx6xf32> {pm.sharding = #both}) -> (tensor<ROWSx6xf32> {pm.sharding = #both}) {
  %f = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %limit = stablehlo.constant {pm.shardings = [#s]} dense<500.0> : tensor<f32>
  %ones = stablehlo.constant {pm.shardings = [#both]} dense<1.0> : tensor<ROWSx6xf32>
  %r = stablehlo.while(%v = %a) : tensor<ROWSx6xf32> attributes {pm.shardings = [#both]}
  cond {
    %square = stablehlo.multiply %v, %v {pm.shardings = [#both]} : tensor<ROWSx6xf32>
    %own = stablehlo.reduce(%square init: %f) applies stablehlo.add across dimensions = [0, 1] {pm.shardings = [#sum]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<f32>
    %all = pm.reshard %own from <@mesh, [], partial = sum{"x", "y"}> to <@mesh, []> {pm.shardings = [#s]} : tensor<f32>
    %more = stablehlo.compare LT, %all, %limit, FLOAT {pm.shardings = [#s]} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %zero = stablehlo.constant {pm.shardings = [#s]} dense<0> : tensor<i32>
    %one = stablehlo.constant {pm.shardings = [#s]} dense<1> : tensor<i32>
    %inner:2 = stablehlo.while(%i = %zero, %w = %v) : tensor<i32>, tensor<ROWSx6xf32> attributes {pm.shardings = [#s, #both]}
    cond {
      %more = stablehlo.compare LT, %i, %one, SIGNED {pm.shardings = [#s]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one {pm.shardings = [#s]} : tensor<i32>
      %sum = stablehlo.add %w, %ones {pm.shardings = [#both]} : tensor<ROWSx6xf32>
      stablehlo.return %next, %sum : tensor<i32>, tensor<ROWSx6xf32>
    }
    stablehlo.return %inner#1 : tensor<ROWSx6xf32>
  }
  return %r : tensor<ROWSx6xf32>
}

func.func @branches(%a: tensor<ROWSx6xf32> {pm.sharding = #x}, %b: tensor<6x4xf32> {pm.sharding = #w}, %index: tensor<i32> {pm.sharding = #s}, %p: tensor<i1> {pm.sharding = #s}) -> (tensor<ROWSx4xf32> {pm.sharding = #x}, tensor<ROWSxf32> {pm.sharding = #rows}, tensor<ROWSxf32> {pm.sharding = #rows}) {
  %f = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %low = stablehlo.constant {pm.shardings = [#s]} dense<0xFF800000> : tensor<f32>
  %c:2 = "stablehlo.case"(%index) ({
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {pm.shardings = [#x]} : (tensor<ROWSx6xf32>, tensor<6x4xf32>) -> tensor<ROWSx4xf32>
    %s = stablehlo.reduce(%a init: %f) applies stablehlo.add across dimensions = [1] {pm.shardings = [#rows]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<ROWSxf32>
    stablehlo.return %d, %s : tensor<ROWSx4xf32>, tensor<ROWSxf32>
  }, {
    // Cut otherwise, and partial, until the end of the branch.
    %d = stablehlo.slice %a [0:ROWS, 1:5] {pm.shardings = [#x]} : (tensor<ROWSx6xf32>) -> tensor<ROWSx4xf32>
    %moved = pm.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{"x"}, {"y"}]> {pm.shardings = [#xy]} : tensor<ROWSx6xf32>
    %s = stablehlo.reduce(%moved init: %f) applies stablehlo.add across dimensions = [1] {pm.shardings = [#rowsum]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<ROWSxf32>
    stablehlo.return %d, %s : tensor<ROWSx4xf32>, tensor<ROWSxf32>
  }, {
    %d = stablehlo.constant {pm.shardings = [#w]} dense<2.0> : tensor<ROWSx4xf32>
    %s = stablehlo.iota dim = 0 {pm.shardings = [#rows]} : tensor<ROWSxf32>
    stablehlo.return %d, %s : tensor<ROWSx4xf32>, tensor<ROWSxf32>
  }) {pm.shardings = [#x, #rows]} : (tensor<i32>) -> (tensor<ROWSx4xf32>, tensor<ROWSxf32>)
  %i = "stablehlo.if"(%p) ({
    stablehlo.return %c#1 : tensor<ROWSxf32>
  }, {
    %s = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] {pm.shardings = [#rows]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<ROWSxf32>
    stablehlo.return %s : tensor<ROWSxf32>
  }) {pm.shardings = [#rows]} : (tensor<i1>) -> tensor<ROWSxf32>
  return %c#0, %c#1, %i : tensor<ROWSx4xf32>, tensor<ROWSxf32>, tensor<ROWSxf32>
}

// Carries that are parts of sums: one that starts from zero, one that starts from a
// value that all ranks have, and one to which such a value is yielded.
#part = #pm.sharding<@mesh, [{}], partial = sum{"x"}>
#one = #pm.sharding<@mesh, [{}]>
func.func @parts(%a: tensor<ROWSx6xf32> {pm.sharding = #x}, %b: tensor<6xf32> {pm.sharding = #one}) -> (tensor<6xf32> {pm.sharding = #one}, tensor<6xf32> {pm.sharding = #one}, tensor<6xf32> {pm.sharding = #one}) {
  %zero = stablehlo.constant {pm.shardings = [#s]} dense<0> : tensor<i32>
  %one = stablehlo.constant {pm.shardings = [#s]} dense<1> : tensor<i32>
  %n = stablehlo.constant {pm.shardings = [#s]} dense<3> : tensor<i32>
  %f = stablehlo.constant {pm.shardings = [#s]} dense<0.0> : tensor<f32>
  %none = stablehlo.constant {pm.shardings = [#one]} dense<0.0> : tensor<6xf32>
  %r:4 = stablehlo.while(%i = %zero, %v = %none, %w = %b, %u = %none) : tensor<i32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  attributes {pm.shardings = [#s, #part, #part, #part]}
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED {pm.shardings = [#s]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one {pm.shardings = [#s]} : tensor<i32>
    %own = stablehlo.reduce(%a init: %f) applies stablehlo.add across dimensions = [0] {pm.shardings = [#part]} : (tensor<ROWSx6xf32>, tensor<f32>) -> tensor<6xf32>
    %sum = stablehlo.add %v, %own {pm.shardings = [#part]} : tensor<6xf32>
    %other = stablehlo.subtract %w, %own {pm.shardings = [#part]} : tensor<6xf32>
    stablehlo.return %next, %sum, %other, %b : tensor<i32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  }
  %0 = pm.reshard %r#1 from <@mesh, [{}], partial = sum{"x"}> to <@mesh, [{}]> {pm.shardings = [#one]} : tensor<6xf32>
  %1 = pm.reshard %r#2 from <@mesh, [{}], partial = sum{"x"}> to <@mesh, [{}]> {pm.shardings = [#one]} : tensor<6xf32>
  %2 = pm.reshard %r#3 from <@mesh, [{}], partial = sum{"x"}> to <@mesh, [{}]> {pm.shardings = [#one]} : tensor<6xf32>
  return %0, %1, %2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
