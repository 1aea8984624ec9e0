// The cheapest way from one sharding to another.
// RUN: pmopt %s --pm-partition --split-input-file | FileCheck %s

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 3>]

// CHECK-LABEL: func.func @cut_to_whole
func.func @cut_to_whole(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[R:.*]] = pm.all_gather %arg0 dim 0 over ["x", "y"] on @mesh : (tensor<2x6xf32>) -> tensor<12x6xf32>
  // CHECK: return %[[R]]
  %0 = pm.reshard %a from <@mesh, [{"x", "y"}, {}]> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @only_the_minor_axis_is_gathered
func.func @only_the_minor_axis_is_gathered(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: pm.all_gather %arg0 dim 0 over ["y"] on @mesh : (tensor<2x6xf32>) -> tensor<6x6xf32>
  // CHECK-NOT: dynamic_slice
  %0 = pm.reshard %a from <@mesh, [{"x", "y"}, {}]> to <@mesh, [{"x"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// The major axis is moved to the end first.
// CHECK-LABEL: func.func @the_major_axis_is_gathered
func.func @the_major_axis_is_gathered(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK: %[[P:.*]] = pm.collective_permute %arg0 over ["x", "y"] sources [0, 2, 4, 1, 3, 5] on @mesh : tensor<2x6xf32>
  // CHECK: %[[G:.*]] = pm.all_gather %[[P]] dim 0 over ["x"] on @mesh : (tensor<2x6xf32>) -> tensor<4x6xf32>
  // CHECK: return %[[G]]
  %0 = pm.reshard %a from <@mesh, [{"x", "y"}, {}]> to <@mesh, [{"y"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"y"}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// Another dimension is cut before this one is gathered: the gather moves less.
// CHECK-LABEL: func.func @slices_come_first
func.func @slices_come_first(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"y"}]>}) {
  // CHECK: %[[S:.*]] = stablehlo.dynamic_slice %arg0, {{.*}} sizes = [6, 2]
  // CHECK: pm.all_gather %[[S]] dim 0 over ["x"] on @mesh : (tensor<6x2xf32>) -> tensor<12x2xf32>
  %0 = pm.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"y"}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {"y"}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @to_another_dimension
func.func @to_another_dimension(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: %[[R:.*]] = pm.all_to_all %arg0 split 1 concat 0 over ["x"] on @mesh : (tensor<6x6xf32>) -> tensor<12x3xf32>
  // CHECK: return %[[R]]
  %0 = pm.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @axes_in_another_order
func.func @axes_in_another_order(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"y", "x"}, {}]>}) {
  // CHECK: pm.collective_permute %arg0 over ["x", "y"] sources [0, 2, 4, 1, 3, 5]
  // CHECK-NOT: dynamic_slice
  %0 = pm.reshard %a from <@mesh, [{"x", "y"}, {}]> to <@mesh, [{"y", "x"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"y", "x"}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @one_exchange_for_two_axes
func.func @one_exchange_for_two_axes(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"x", "y"}>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  // CHECK: pm.all_reduce sum(%arg0) over ["x", "y"]
  // CHECK-NOT: pm.all_reduce
  %0 = pm.reshard %a from <@mesh, [{}, {}], partial = sum{"x", "y"}> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: func.func @one_axis_stays_partial
func.func @one_axis_stays_partial(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"x", "y"}>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>}) {
  // CHECK: pm.all_reduce sum(%arg0) over ["y"]
  %0 = pm.reshard %a from <@mesh, [{}, {}], partial = sum{"x", "y"}> to <@mesh, [{}, {}], partial = sum{"x"}> {pm.shardings = [#pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// A sum of which each rank needs a block is scattered.
// CHECK-LABEL: func.func @sum_to_cut
func.func @sum_to_cut(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"y"}>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"y"}]>}) {
  // CHECK: pm.reduce_scatter %arg0 sum dim 1 over ["y"] on @mesh : (tensor<12x6xf32>) -> tensor<12x2xf32>
  // CHECK-NOT: pm.all_reduce
  %0 = pm.reshard %a from <@mesh, [{}, {}], partial = sum{"y"}> to <@mesh, [{}, {"y"}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {"y"}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// The other axis is cut before the sum is taken, of half the elements.
// CHECK-LABEL: func.func @sums_of_a_slice
func.func @sums_of_a_slice(%a: tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"y"}>}) -> (tensor<12x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[S:.*]] = stablehlo.dynamic_slice %arg0, {{.*}} sizes = [6, 6]
  // CHECK: pm.all_reduce sum(%[[S]]) over ["y"] on @mesh : tensor<6x6xf32>
  %0 = pm.reshard %a from <@mesh, [{}, {}], partial = sum{"y"}> to <@mesh, [{"x"}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]} : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 3>, <"y", spatial = 2>]

// Blocks of 3, 3 and 2; the whole has no padding, and a block is cut from a padded
// one.
// CHECK-LABEL: func.func @short_blocks
// CHECK-SAME: tensor<3xf32> {pm.global_type = tensor<8xf32>
func.func @short_blocks(%a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}, tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) {
  // CHECK: %[[G:.*]] = pm.all_gather %arg0 dim 0 over ["x"] on @mesh : (tensor<3xf32>) -> tensor<8xf32>
  %0 = pm.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{}]> {pm.shardings = [#pm.sharding<@mesh, [{}]>]} : tensor<8xf32>
  // CHECK: %[[P:.*]] = stablehlo.pad %[[G]], %{{.*}}, low = [0], high = [1]
  // CHECK: stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [3]
  %1 = pm.reshard %0 from <@mesh, [{}]> to <@mesh, [{"x"}]> {pm.shardings = [#pm.sharding<@mesh, [{"x"}]>]} : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Blocks of 2 within blocks of 3 lie elsewhere than blocks of 2 of the whole.
// CHECK-LABEL: func.func @short_blocks_do_not_nest
func.func @short_blocks_do_not_nest(%a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}]>}) {
  // CHECK: %[[G:.*]] = pm.all_gather %arg0 dim 0 over ["x"]
  // CHECK: %[[P:.*]] = stablehlo.pad %[[G]], %{{.*}}, low = [0], high = [4]
  // CHECK: stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [2]
  %0 = pm.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{"x", "y"}]> {pm.shardings = [#pm.sharding<@mesh, [{"x", "y"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @short_blocks_that_nest
func.func @short_blocks_that_nest(%a: tensor<11xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<11xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}]>}) {
  // CHECK-NOT: pm.all_gather
  // CHECK: stablehlo.dynamic_slice %arg0, {{.*}} sizes = [2]
  %0 = pm.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{"x", "y"}]> {pm.shardings = [#pm.sharding<@mesh, [{"x", "y"}]>]} : tensor<11xf32>
  return %0 : tensor<11xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @axes_change_places
func.func @axes_change_places(%a: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK: %[[R:.*]] = pm.collective_permute %arg0 over ["x", "y"] sources [0, 2, 1, 3] on @mesh : tensor<2x3xf32>
  // CHECK: return %[[R]]
  %0 = pm.reshard %a from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{"y"}, {"x"}]> {pm.shardings = [#pm.sharding<@mesh, [{"y"}, {"x"}]>]} : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// The last blocks of both dimensions are short.
// CHECK-LABEL: func.func @short_blocks_move
func.func @short_blocks_move(%a: tensor<5x7xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<5x7xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: pm.all_to_all %arg0 split 1 concat 0 over ["x"] on @mesh : (tensor<3x7xf32>) -> tensor<5x4xf32>
  %0 = pm.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]} : tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// -----

// Over a slow axis goes only what no fast one can carry: half of the sum.
module attributes {pm.cluster = [{name = "inside", size = 2 : i64, bandwidth = 100.0 : f64, latency = 1.0 : f64, reduces = false},
                                 {name = "outside", size = 2 : i64, bandwidth = 1.0 : f64, latency = 1.0 : f64, reduces = false}]} {
  pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]
  // CHECK-LABEL: func.func @a_sum_over_a_slow_axis
  func.func @a_sum_over_a_slow_axis(%a: tensor<1024x1024xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = sum{"x", "y"}>}) -> (tensor<1024x1024xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
    // CHECK: %[[S:.*]] = pm.reduce_scatter %arg0 sum dim {{[01]}} over ["y"]
    // CHECK: %[[A:.*]] = pm.all_reduce sum(%[[S]]) over ["x"]
    // CHECK: pm.all_gather %[[A]] dim {{[01]}} over ["y"]
    %0 = pm.reshard %a from <@mesh, [{}, {}], partial = sum{"x", "y"}> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<1024x1024xf32>
    return %0 : tensor<1024x1024xf32>
  }
}
