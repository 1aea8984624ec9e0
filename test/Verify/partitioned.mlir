// A partitioned function runs on all ranks of its mesh in lockstep.
// RUN: split-file %s %t
// RUN: pmcheck equiv %t/global.mlir %t/good.mlir | FileCheck %s --check-prefix=GOOD
// RUN: not pmcheck equiv %t/global.mlir %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not pmcheck equiv %t/global.mlir %t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pmcheck equiv %t/global.mlir %t/branch.mlir 2>&1 | FileCheck %s --check-prefix=BRANCH
// RUN: not pmcheck equiv %t/global.mlir %t/axis.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not pmcheck run %t/mesh.mlir 2>&1 | FileCheck %s --check-prefix=MESH

// RUN: pmcheck equiv %t/sums.mlir %t/blocks.mlir | FileCheck %s --check-prefix=BLOCKS
// RUN: not pmcheck equiv %t/sums.mlir %t/order.mlir --function=order 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not pmcheck equiv %t/sums.mlir %t/padding.mlir --function=padding 2>&1 | FileCheck %s --check-prefix=PADDING
// RUN: not pmcheck run %t/scatter-axis.mlir 2>&1 | FileCheck %s --check-prefix=AXIS

// BLOCKS: blocks.mlir: function 'main' on 6 ranks
// BLOCKS: equivalent
// ORDER: pmcheck: error: 'y' departs
// PADDING: pmcheck: error: 'sum' departs

// GOOD: good.mlir: function 'main' on 6 ranks
// GOOD: equivalent
// MISSING: error: result 'loss' is the same on ranks 0 and 3 by its sharding, but element 0 is {{.*}} on the one and {{.*}} on the other
// TWICE: pmcheck: error: 'loss' departs
// BRANCH: error: rank 0 waits here for rank 3, which took another branch
// AXIS: error: axis 'mb' is not a spatial axis of the mesh that the program runs on
// MESH: error: is partitioned, but its module has no pm.mesh to run on

//--- global.mlir
func.func @main(%x: tensor<4x6xf32> {pm.input = "x"}) -> (tensor<4x6xf32> {pm.output = "y"}, tensor<f32> {pm.output = "loss"}, tensor<4xi32> {pm.output = "rows"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<4x6xf32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  %rows = stablehlo.iota dim = 0 : tensor<4xi32>
  return %y, %loss, %rows : tensor<4x6xf32>, tensor<f32>, tensor<4xi32>
}
// The sum of squares is left partial over tp: its sharding says so.
//--- good.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @main(%x: tensor<2x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<2x2xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<f32> {pm.output = "loss", pm.sharding = #pm.sharding<@mesh, [], partial = sum{"tp"}>},
        tensor<2xi32> {pm.output = "rows", pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<2x2xf32>
  %part = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %loss = pm.all_reduce sum(%part) over ["dp"] on @mesh : tensor<f32>
  %index = pm.axis_index "dp" on @mesh : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %first = stablehlo.multiply %index, %two : tensor<i32>
  %start = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %i = stablehlo.iota dim = 0 : tensor<2xi32>
  %rows = stablehlo.add %start, %i : tensor<2xi32>
  return %y, %loss, %rows : tensor<2x2xf32>, tensor<f32>, tensor<2xi32>
}
// The all-reduce over dp is missing.
//--- missing.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @main(%x: tensor<2x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<2x2xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<f32> {pm.output = "loss", pm.sharding = #pm.sharding<@mesh, []>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<2x2xf32>
  %part = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %loss = pm.all_reduce sum(%part) over ["tp"] on @mesh : tensor<f32>
  return %y, %loss : tensor<2x2xf32>, tensor<f32>
}
// Reduced over tp although that was done.
//--- twice.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @main(%x: tensor<2x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<f32> {pm.output = "loss", pm.sharding = #pm.sharding<@mesh, []>},
        tensor<2x2xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<2xi32> {pm.output = "rows", pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<2x2xf32>
  %part = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %loss = pm.all_reduce sum(%part) over ["dp", "tp"] on @mesh : tensor<f32>
  %again = pm.all_reduce sum(%loss) over ["tp"] on @mesh : tensor<f32>
  %index = pm.axis_index "dp" on @mesh : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %first = stablehlo.multiply %index, %two : tensor<i32>
  %start = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %i = stablehlo.iota dim = 0 : tensor<2xi32>
  %rows = stablehlo.add %start, %i : tensor<2xi32>
  return %again, %y, %rows : tensor<f32>, tensor<2x2xf32>, tensor<2xi32>
}
// Only the first dp coordinate reaches the collective.
//--- branch.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @main(%x: tensor<2x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<2x2xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %index = pm.axis_index "dp" on @mesh : tensor<i32>
  %y = "stablehlo.case"(%index) ({
    %0 = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<2x2xf32>
    stablehlo.return %0 : tensor<2x2xf32>
  }, {
    stablehlo.return %x : tensor<2x2xf32>
  }) : (tensor<i32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
//--- axis.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @main(%x: tensor<4x6xf32> {pm.input = "x"}) -> (tensor<4x6xf32> {pm.output = "y"}) {
  %0 = pm.all_reduce sum(%x) over ["mb"] on @mesh : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
//--- mesh.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
//--- sums.mlir
func.func @main(%x: tensor<4x7xf32> {pm.input = "x"}) -> (tensor<4x7xf32> {pm.output = "y"}, tensor<7xf32> {pm.output = "rows"}, tensor<4xf32> {pm.output = "sum"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.negate %x : tensor<4x7xf32>
  %rows = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x7xf32>, tensor<f32>) -> tensor<7xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
  return %y, %rows, %sum : tensor<4x7xf32>, tensor<7xf32>, tensor<4xf32>
}
func.func @order(%x: tensor<4x7xf32> {pm.input = "x"}) -> (tensor<4x7xf32> {pm.output = "y"}) {
  %y = stablehlo.negate %x : tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}
func.func @padding(%x: tensor<4x7xf32> {pm.input = "x"}) -> (tensor<4xf32> {pm.output = "sum"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
// Columns in six blocks of 2, of which the fourth has one column and the last two
// have none. The first of the axes is the outermost, whatever the mesh says.
//--- blocks.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @main(%x: tensor<4x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{}, {"tp", "dp"}]>, pm.global_type = tensor<4x7xf32>})
    -> (tensor<4x7xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{}, {}]>},
        tensor<3xf32> {pm.output = "rows", pm.sharding = #pm.sharding<@mesh, [{"tp"}]>, pm.global_type = tensor<7xf32>},
        tensor<4xf32> {pm.output = "sum", pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<7xf32>
  %whole = pm.all_gather %x dim 1 over ["tp", "dp"] on @mesh : (tensor<4x2xf32>) -> tensor<4x7xf32>
  %y = stablehlo.negate %whole : tensor<4x7xf32>
  %own = stablehlo.reduce(%whole init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x7xf32>, tensor<f32>) -> tensor<7xf32>
  %i = pm.axis_index "tp" on @mesh : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %first = stablehlo.compare EQ, %i, %none : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %nothing = stablehlo.constant dense<0.0> : tensor<7xf32>
  %part = stablehlo.select %first, %own, %nothing : tensor<i1>, tensor<7xf32>
  %rows = pm.reduce_scatter %part sum dim 0 over ["tp"] on @mesh : (tensor<7xf32>) -> tensor<3xf32>
  %sum = stablehlo.reduce(%whole init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
  return %y, %rows, %sum : tensor<4x7xf32>, tensor<3xf32>, tensor<4xf32>
}
// The axes of the gather are swapped.
//--- order.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @order(%x: tensor<4x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{}, {"tp", "dp"}]>, pm.global_type = tensor<4x7xf32>})
    -> (tensor<4x7xf32> {pm.output = "y", pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  %whole = pm.all_gather %x dim 1 over ["dp", "tp"] on @mesh : (tensor<4x2xf32>) -> tensor<4x7xf32>
  %y = stablehlo.negate %whole : tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}
// The padding of an input is not a number: a sum over it shows.
//--- padding.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]
func.func @padding(%x: tensor<4x2xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{}, {"tp", "dp"}]>, pm.global_type = tensor<4x7xf32>})
    -> (tensor<4xf32> {pm.output = "sum", pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = pm.all_reduce sum(%part) over ["dp", "tp"] on @mesh : tensor<4xf32>
  return %sum : tensor<4xf32>
}
//--- scatter-axis.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @main(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
  %0 = pm.reduce_scatter %x sum dim 0 over ["mb"] on @mesh : (tensor<4x6xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}
