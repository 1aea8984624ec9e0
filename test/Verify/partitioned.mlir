// A partitioned function runs on all ranks of its mesh in lockstep.
// RUN: split-file %s %t
// RUN: pmcheck equiv %t/global.mlir %t/good.mlir | FileCheck %s --check-prefix=GOOD
// RUN: not pmcheck equiv %t/global.mlir %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not pmcheck equiv %t/global.mlir %t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pmcheck equiv %t/global.mlir %t/branch.mlir 2>&1 | FileCheck %s --check-prefix=BRANCH
// RUN: not pmcheck equiv %t/global.mlir %t/axis.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not pmcheck run %t/mesh.mlir 2>&1 | FileCheck %s --check-prefix=MESH

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
