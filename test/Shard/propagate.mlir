// RUN: pmopt %s --pm-propagate --split-input-file | FileCheck %s
// Propagation does nothing to its own output.
// RUN: pmopt %s --pm-propagate --split-input-file > %t.once
// RUN: pmopt %t.once --pm-propagate --split-input-file > %t.twice
// RUN: diff %t.once %t.twice

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @forward_and_backward
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>}
func.func @forward_and_backward(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: stablehlo.constant {pm.shardings = [#pm.sharding<@mesh, [{"dp", "mb"}, {}]>]}
  %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
  // CHECK: stablehlo.tanh {{.*}}[{"dp", "mb"}, {}]
  %0 = stablehlo.tanh %y : tensor<8x4xf32>
  // CHECK: stablehlo.multiply {{.*}}[{"dp", "mb"}, {}]
  %1 = stablehlo.multiply %0, %c : tensor<8x4xf32>
  // CHECK: stablehlo.add {{.*}}[{"dp", "mb"}, {}]
  %2 = stablehlo.add %x, %1 : tensor<8x4xf32>
  // CHECK-NOT: pm.reshard
  return %2 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @state_does_not_propagate
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>, pm.state
func.func @state_does_not_propagate(
    %w: tensor<8x4xf32> {pm.state = #pm.state<parameter, "w">},
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[W:.*]] = pm.reshard %{{.*}} from <@mesh, [{}, {}]> to <@mesh, [{"dp"}, {}]>
  // CHECK: stablehlo.add %[[W]]
  %0 = stablehlo.add %w, %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @constraint_binds
func.func @constraint_binds(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[C:.*]] = pm.reshard %{{.*}} from <@mesh, [{}, {}]> to <@mesh, [{"dp"}, {}]>
  // CHECK-NOT: pm.constrain
  %0 = pm.constrain %x to <@mesh, [{"dp"}, {}]> : tensor<8x4xf32>
  // CHECK: stablehlo.negate %[[C]] {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {}]>]}
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// CHECK-LABEL: func.func @annotation_of_a_result_binds
func.func @annotation_of_a_result_binds(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> (tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: %[[N:.*]] = stablehlo.negate %{{.*}} {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]}
  // CHECK: %[[R:.*]] = pm.reshard %[[N]] from <@mesh, [{}, {}]> to <@mesh, [{"dp"}, {}]>
  // CHECK: return %[[R]]
  %0 = stablehlo.negate %x {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// One reshard serves all uses.
// CHECK-LABEL: func.func @reshards_are_shared
func.func @reshards_are_shared(
    %w: tensor<8xf32> {pm.state = #pm.state<parameter, "w">},
    %x: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-1: pm.reshard
  // CHECK-NOT: pm.reshard
  %0 = stablehlo.add %w, %x : tensor<8xf32>
  %1 = stablehlo.multiply %w, %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 4>]

// The value with more bytes keeps its axis; the smaller one is resharded.
// CHECK-LABEL: func.func @conflict_goes_to_the_larger_value
func.func @conflict_goes_to_the_larger_value(
    %a: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<16x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x4xf32> {
  // CHECK: %[[B:.*]] = pm.reshard %{{.*}} from <@mesh, [{}, {"x"}]> to <@mesh, [{}, {}]> {{.*}} : tensor<16x4xf32>
  // CHECK: stablehlo.dot_general %{{.*}}, %[[B]]{{.*}}[{"x"}, {}]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]

// No collective gathers micro-batches: a larger weight that is cut over the axis of
// the batch is gathered for its use, and its gradient goes back to the pieces.
// CHECK-LABEL: func.func @micro_batches_stay
func.func @micro_batches_stay(
    %x: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %w: tensor<64x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>, pm.state = #pm.state<parameter, "w">},
    %dy: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: %[[W:.*]] = pm.reshard %{{.*}} from <@mesh, [{"dp"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %{{.*}}, %[[W]], {{.*}}[{"dp", "mb"}, {}]>]
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
  // CHECK: %[[D:.*]] = stablehlo.dot_general {{.*}}[{}, {}], partial = sum{"dp", "mb"}
  // CHECK: pm.reshard %[[D]] from <@mesh, [{}, {}], partial = sum{"dp", "mb"}> to <@mesh, [{"dp"}, {}]>
  %dw = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  return %y, %dw : tensor<8x64xf32>, tensor<64x16xf32>
}
