// What annotations say about each other.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --split-input-file | FileCheck %s

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// The lower number binds first.
// CHECK-LABEL: func.func @priorities
func.func @priorities(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}p1, {}]>},
    %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[A:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]>
  // CHECK: stablehlo.add %[[A]], %{{.*}}[{}, {"x"}]
  %0 = stablehlo.add %a, %b : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// An open dimension may be cut further, a closed one may not.
// CHECK-LABEL: func.func @open_and_closed
// CHECK-SAME: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}
func.func @open_and_closed(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{?}, {}]>},
    %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {?}]>},
    %c: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x4xf32>
  %1 = stablehlo.add %0, %c : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// What is replicated over an axis is not cut over it.
// CHECK-LABEL: func.func @replicated_axes
// CHECK-SAME: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}
func.func @replicated_axes(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{?}, {?}], replicated = {"y"}>},
    %b: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Values of one group lie alike, though no op joins them.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}, %{{.*}}: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}
func.func @groups(
    %a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NOT: pm.sharding_group
  pm.sharding_group %a id 3 : tensor<8xf32>
  pm.sharding_group %b id 3 : tensor<8xf32>
  // CHECK: stablehlo.negate {{.*}}[{"x"}]
  %0 = stablehlo.negate %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Parts may come in and go out.
// CHECK-LABEL: func.func @partial_annotations
func.func @partial_annotations(
    %a: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>},
    %b: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>},
    %c: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>}) -> (
      tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}], partial = sum{"x"}>}, tensor<4xf32>) {
  // CHECK: %[[S:.*]] = stablehlo.add {{.*}}partial = sum{"x"}
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  // CHECK: %[[A:.*]] = pm.reshard %{{.*}} from <@mesh, [{}], partial = sum{"x"}> to <@mesh, [{}]>
  // CHECK: stablehlo.tanh %[[A]]
  %1 = stablehlo.tanh %c : tensor<4xf32>
  // CHECK: return %[[S]], %
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// A constraint may ask for parts: the sum is taken behind it.
// CHECK-LABEL: func.func @partial_constraint
func.func @partial_constraint(
    %a: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: %[[S:.*]] = stablehlo.reduce
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = pm.constrain %0 to <@mesh, [{}], partial = sum{"x"}> : tensor<4xf32>
  // CHECK: stablehlo.negate %[[S]] {{.*}}partial = sum{"x"}
  %2 = stablehlo.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 4>]

// What moves fewer bytes wins, wherever it stands: the sum of the product is
// smaller than either operand.
// CHECK-LABEL: func.func @fewest_bytes
func.func @fewest_bytes(
    %a: tensor<4x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
    %c: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
    %d: tensor<4x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  // CHECK: %[[A:.*]] = pm.reshard %arg0 from <@mesh, [{}, {"x"}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %[[A]], %arg1
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  // CHECK: %[[D:.*]] = pm.reshard %arg3 from <@mesh, [{}, {"x"}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %arg2, %[[D]]
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [0] x [1] : (tensor<64x64xf32>, tensor<4x64xf32>) -> tensor<64x4xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<64x4xf32>) -> tensor<4x64xf32>
  return %0, %2 : tensor<4x64xf32>, tensor<4x64xf32>
}
