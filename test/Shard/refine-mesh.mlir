// RUN: pmopt %s --pm-refine-mesh --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: pm.mesh @mesh = [<"y", spatial = 3>, <"x.0", spatial = 2>, <"x.1", spatial = 4>, <"mb", temporal = 2>]
pm.mesh @mesh = [<"y", spatial = 3>, <"x", spatial = 8>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @parts
// CHECK-SAME: [{"x.1", "y", "mb"}, {"x.0", ?}p1]
// CHECK-SAME: [{"x.0", "x.1"}b7, {}], partial = sum{"y"}
// CHECK-SAME: [{}, {}], partial = max{"x.0"}, replicated = {"x.1"}
func.func @parts(
    %a: tensor<24x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(2)4", "y", "mb"}, {"x:(1)2", ?}p1]>},
    %b: tensor<50x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}b7, {}], partial = sum{"y"}>},
    %c: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}], partial = max{"x:(1)2"}, replicated = {"x:(2)4"}>}) -> tensor<8x8xf32> {
  // CHECK: pm.constrain %{{.*}} to <@mesh, [{"x.1"}, {"x.0"}]>
  %0 = pm.constrain %c to <@mesh, [{"x:(2)4"}, {"x:(1)2"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Parts that overlap are cut at all their ends; a part of one axis has a name of
// its own where that is taken.
// CHECK: pm.mesh @mesh = [<"x.0_", spatial = 2>, <"x.1", spatial = 2>, <"x.2", spatial = 2>, <"x.0", spatial = 3>]
pm.mesh @mesh = [<"x", spatial = 8>, <"x.0", spatial = 3>]
// CHECK-LABEL: func.func @overlapping
// CHECK-SAME: [{"x.0_", "x.1"}, {"x.2"}]
// CHECK-SAME: [{"x.1", "x.2"}, {}]
func.func @overlapping(
    %a: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)4"}, {"x:(4)2"}]>},
    %b: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(2)4"}, {}]>}) {
  return
}

// -----

// Collectives and coordinates of manual computations follow.
// CHECK: pm.mesh @mesh = [<"x.0", spatial = 2>, <"x.1", spatial = 2>]
pm.mesh @mesh = [<"x", spatial = 4>]
// CHECK-LABEL: func.func @manual
func.func @manual(
    %a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)2"}]>}) -> tensor<8xf32> {
  // CHECK: manual ["x.0", "x.1"]
  %r = pm.manual_computation(%a) in [#pm.sharding<@mesh, [{"x"}]>] out [#pm.sharding<@mesh, [{}]>] manual ["x"] on @mesh : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%l: tensor<2xf32>):
    // CHECK: %[[A:.*]] = pm.axis_index "x.0" on @mesh
    // CHECK: %[[B:.*]] = pm.axis_index "x.1" on @mesh
    // CHECK: %[[TWO:.*]] = stablehlo.constant dense<2>
    // CHECK: %[[M:.*]] = stablehlo.multiply %[[A]], %[[TWO]]
    // CHECK: %[[I:.*]] = stablehlo.add %[[M]], %[[B]]
    %i = pm.axis_index "x" on @mesh : tensor<i32>
    // CHECK: stablehlo.convert %[[I]]
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %s = stablehlo.add %l, %b : tensor<2xf32>
    // CHECK: pm.all_gather %{{.*}} dim 0 over ["x.0", "x.1"]
    %g = pm.all_gather %s dim 0 over ["x"] on @mesh : (tensor<2xf32>) -> tensor<8xf32>
    pm.return %g : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 6>]
// expected-error @below {{'x:(1)3' and another part of the axis 'x' of size 6 have no common refinement; use parts that divide each other}}
func.func @no_common_refinement(
    %a: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)2"}, {}]>},
    %b: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)3"}, {}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"x", spatial = 6>]
// expected-error @below {{'x:(1)4' does not divide the axis 'x' of size 6}}
func.func @no_part(%a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)4"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"mb", temporal = 4>]
// expected-error @below {{'mb:(1)2' is a part of an axis that is not spatial; only spatial axes have parts}}
func.func @temporal(%a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"mb:(1)2"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"x", spatial = 4>]
// expected-error @below {{'z:(1)2' is a part of 'z', which is no axis of the mesh 'mesh'}}
func.func @unknown(%a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"z:(1)2"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"x", spatial = 8>]
// expected-error @below {{'x:(1)4' and 'x:(2)4' of one list are parts of the axis 'x' that overlap}}
func.func @overlap_in_one_sharding(
    %a: tensor<8x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x:(1)4"}, {"x:(2)4"}]>}) {
  return
}

// -----

pm.mesh @mesh = [<"x", spatial = 8>]
func.func @part_and_whole(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'x' and 'x:(2)2' of one list are parts of the axis 'x' that overlap}}
  %0 = pm.constrain %a to <@mesh, [{"x"}, {}], partial = sum{"x:(2)2"}> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
