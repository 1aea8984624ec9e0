// Manual computations, and collectives over the axes whose groups they name.
// RUN: pmopt %s --pm-import-stablehlo -split-input-file | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func public @main(
func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xi1>) -> tensor<8x16xf32> {
  // CHECK: pm.manual_computation(%arg0, %arg1) in [#pm.sharding<@mesh, [{"x"}, {"y"}]>, #pm.sharding<@mesh, [{"x"}, {"y"}]>] out [#pm.sharding<@mesh, [{"x"}, {"y"}]>] manual ["x", "y"] on @mesh
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf32>, %[[P:.*]]: tensor<4x4xi1>):
  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%a: tensor<4x4xf32>, %p: tensor<4x4xi1>) {
    // The order of the members of a reduction does not matter.
    // CHECK-NEXT: pm.all_reduce sum(%[[A]]) over ["y"] on @mesh
    %1 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[4, 5, 6, 7], [3, 2, 1, 0]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      %c = sdy.sharding_constraint %s <@mesh, []> : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: pm.all_reduce max(%[[P]]) over ["x"] on @mesh
    %2 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<i1>, %r: tensor<i1>):
      %s = stablehlo.or %l, %r : tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<4x4xi1>) -> tensor<4x4xi1>
    // A product is gathered and reduced by each rank.
    // CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %[[A]] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    // CHECK-NEXT: %[[G:.*]] = pm.all_gather %[[R]] dim 0 over ["x"] on @mesh : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    // CHECK-NEXT: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    // CHECK-NEXT: stablehlo.reduce(%[[G]] init: %[[ONE]]) applies stablehlo.multiply across dimensions = [0]
    %3 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.multiply %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // Members in the order of y, then x.
    // CHECK-NEXT: pm.all_gather %[[A]] dim 1 over ["y", "x"] on @mesh : (tensor<4x4xf32>) -> tensor<4x32xf32>
    %4 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<4x32xf32>
    // CHECK-NEXT: pm.reduce_scatter %[[A]] sum dim 0 over ["y"] on @mesh : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %5 = "stablehlo.reduce_scatter"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<1x4xf32>
    // CHECK-NEXT: pm.all_to_all %[[A]] split 0 concat 1 over ["y"] on @mesh : (tensor<4x4xf32>) -> tensor<1x16xf32>
    %6 = "stablehlo.all_to_all"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<1x16xf32>
    // Of one dimension: its blocks are a dimension of their own.
    // CHECK-NEXT: %[[B:.*]] = stablehlo.reshape %[[A]] : (tensor<4x4xf32>) -> tensor<1x2x2x4xf32>
    // CHECK-NEXT: %[[T:.*]] = pm.all_to_all %[[B]] split 1 concat 0 over ["x"] on @mesh : (tensor<1x2x2x4xf32>) -> tensor<2x1x2x4xf32>
    // CHECK-NEXT: stablehlo.reshape %[[T]] : (tensor<2x1x2x4xf32>) -> tensor<4x4xf32>
    %7 = "stablehlo.all_to_all"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: pm.collective_permute %[[A]] over ["y"] sources [3, 0, 1, 2] on @mesh
    %8 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]]> : tensor<8x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: pm.collective_permute %[[A]] over ["x"] sources [-1, 0] on @mesh
    %9 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // Not the same in both groups of y: over both axes.
    // CHECK-NEXT: pm.collective_permute %[[A]] over ["x", "y"] sources [-1, 0, -1, -1, -1, -1, -1, -1] on @mesh
    %10 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // Groups of one.
    // CHECK-NEXT: stablehlo.negate %[[A]]
    %11 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %12 = stablehlo.negate %11 : tensor<4x4xf32>
    sdy.return %12 : tensor<4x4xf32>
  } : (tensor<8x16xf32>, tensor<8x16xi1>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Coordinates: by divide and remainder, and the number of the device itself.
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func public @main(
func.func public @main() -> (tensor<8xui32>, tensor<2xui32>) {
  %0:2 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x"}]>] manual_axes={"x", "y"} () {
    // CHECK: %[[X:.*]] = pm.axis_index "x" on @mesh : tensor<i32>
    // CHECK: %[[XU:.*]] = stablehlo.convert %[[X]] : (tensor<i32>) -> tensor<ui32>
    // CHECK: stablehlo.multiply %[[XU]]
    // CHECK: pm.axis_index "y" on @mesh : tensor<i32>
    %id = stablehlo.partition_id : tensor<ui32>
    %c4 = stablehlo.constant dense<4> : tensor<ui32>
    %c2 = stablehlo.constant dense<2> : tensor<ui32>
    %pid = stablehlo.partition_id : tensor<ui32>
    %d = stablehlo.divide %pid, %c4 : tensor<ui32>
    // CHECK: %[[I:.*]] = pm.axis_index "x" on @mesh : tensor<i32>
    // CHECK: %[[U:.*]] = stablehlo.convert %[[I]] : (tensor<i32>) -> tensor<ui32>
    %m = stablehlo.remainder %d, %c2 : tensor<ui32>
    // CHECK: stablehlo.reshape %[[U]]
    %r0 = stablehlo.reshape %id : (tensor<ui32>) -> tensor<1xui32>
    %r1 = stablehlo.reshape %m : (tensor<ui32>) -> tensor<1xui32>
    sdy.return %r0, %r1 : tensor<1xui32>, tensor<1xui32>
  } : () -> (tensor<8xui32>, tensor<2xui32>)
  return %0#0, %0#1 : tensor<8xui32>, tensor<2xui32>
}

// -----

// A manual computation that does nothing with its axes is its body.
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func public @main(
// CHECK: manual ["x"]
// CHECK-NOT: pm.manual_computation
// CHECK: pm.axis_index "x"
// CHECK: pm.return
func.func public @main() -> tensor<2xi32> {
  %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} () {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={"y"} () {
      %c4 = stablehlo.constant dense<4> : tensor<ui32>
      %c2 = stablehlo.constant dense<2> : tensor<ui32>
      %pid = stablehlo.partition_id : tensor<ui32>
      %d = stablehlo.divide %pid, %c4 : tensor<ui32>
      %m = stablehlo.remainder %d, %c2 : tensor<ui32>
      %i = stablehlo.convert %m : (tensor<ui32>) -> tensor<i32>
      sdy.return %i : tensor<i32>
    } : () -> tensor<i32>
    %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    sdy.return %2 : tensor<1xi32>
  } : () -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
