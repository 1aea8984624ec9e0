// Shardings around and inside of manual computations.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --split-input-file | FileCheck %s

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// Operands come in as they are asked for.
// CHECK-LABEL: func.func @operands_are_brought
func.func @operands_are_brought(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x4xf32> {
  // CHECK: %[[A:.*]] = pm.reshard %{{.*}} from <@mesh, [{}, {"x"}]> to <@mesh, [{"x"}, {}]>
  // CHECK: pm.manual_computation(%[[A]])
  // CHECK: pm.all_reduce
  // CHECK-SAME: pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]
  %y = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}, {}]>] out [#pm.sharding<@mesh, [{}, {}]>] manual ["x"] on @mesh : (tensor<8x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%l: tensor<4x4xf32>):
    %s = pm.all_reduce sum(%l) over ["x"] on @mesh : tensor<4x4xf32>
    pm.return %s : tensor<4x4xf32>
  }
  return %y : tensor<4x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// Axes that are not manual go through, behind the manual ones, where a dimension
// is open.
// CHECK-LABEL: func.func @other_axes_go_through
func.func @other_axes_go_through(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x4xf32> {
  // CHECK: pm.manual_computation
  // CHECK-SAME: in [#pm.sharding<@mesh, [{"x"}, {"y"}]>] out [#pm.sharding<@mesh, [{}, {"y"}]>] manual ["x"]
  %r = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}, {?}]>] out [#pm.sharding<@mesh, [{}, {?}]>] manual ["x"] on @mesh : (tensor<8x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%l: tensor<4x4xf32>):
    // CHECK: stablehlo.tanh {{.*}}[{}, {"y"}]
    %t = stablehlo.tanh %l : tensor<4x4xf32>
    // CHECK: pm.all_reduce {{.*}}[{}, {"y"}]
    %s = pm.all_reduce sum(%t) over ["x"] on @mesh : tensor<4x4xf32>
    pm.return %s : tensor<4x4xf32>
  }
  // CHECK-NOT: pm.reshard
  return %r : tensor<4x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// A dimension that a collective joins or splits is whole over the other axes.
// CHECK-LABEL: func.func @collectives_mix_one_dimension
func.func @collectives_mix_one_dimension(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>},
    %b: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %r:2 = pm.manual_computation(%a, %b) in [#pm.sharding<@mesh, [{"x", ?}, {?}]>, #pm.sharding<@mesh, [{?}, {"x", ?}]>] out [#pm.sharding<@mesh, [{?}, {?}]>, #pm.sharding<@mesh, [{?}, {?}]>] manual ["x"] on @mesh : (tensor<8x4xf32>, tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  ^bb0(%l: tensor<4x4xf32>, %m: tensor<4x4xf32>):
    // CHECK: %[[L:.*]] = pm.reshard %{{.*}} from <@mesh, [{"y"}, {}]> to <@mesh, [{}, {}]>
    // CHECK: pm.all_gather %[[L]] {{.*}}[{}, {}]
    %g = pm.all_gather %l dim 0 over ["x"] on @mesh : (tensor<4x4xf32>) -> tensor<8x4xf32>
    // CHECK: pm.all_gather %{{.*}}[{"y"}, {}]
    %h = pm.all_gather %m dim 1 over ["x"] on @mesh : (tensor<4x4xf32>) -> tensor<4x8xf32>
    pm.return %g, %h : tensor<8x4xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// What comes from outside is not cut over manual axes.
// CHECK-LABEL: func.func @captured_values
func.func @captured_values(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[W:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{}, {"y"}]>
  // CHECK: pm.manual_computation
  %r = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}, {}]>] out [#pm.sharding<@mesh, [{"x"}, {?}]>] manual ["x"] on @mesh : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%l: tensor<4x4xf32>):
    // CHECK: stablehlo.add %{{.*}}, %[[W]] {pm.shardings = [#pm.sharding<@mesh, [{}, {"y"}]>]}
    %t = stablehlo.add %l, %w : tensor<4x4xf32>
    pm.return %t : tensor<4x4xf32>
  }
  return %r : tensor<8x4xf32>
}
