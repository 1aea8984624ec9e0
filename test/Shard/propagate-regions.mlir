// Shardings go through loops, branches and barriers.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --split-input-file | FileCheck %s
// RUN: pmopt %s --pm-propagate --split-input-file > %t.once
// RUN: pmopt %t.once --pm-propagate --split-input-file > %t.twice
// RUN: diff %t.once %t.twice

pm.mesh @mesh = [<"x", spatial = 2>]

// What a loop carries is cut in front of it, inside and behind it.
// CHECK-LABEL: func.func @carried_values_are_cut
func.func @carried_values_are_cut(
    %n: tensor<i32>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.while
  // CHECK-SAME: pm.shardings = [#pm.sharding<@mesh, []>, #pm.sharding<@mesh, [{"x"}, {}]>]
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    // CHECK: stablehlo.tanh {{.*}}[{"x"}, {}]
    %z = stablehlo.tanh %y : tensor<8x4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8x4xf32>
  }
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.negate {{.*}}[{"x"}, {}]
  %s = stablehlo.negate %r#1 : tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// The body alone knows that the carried value can be cut.
// CHECK-LABEL: func.func @found_inside
// CHECK-SAME: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}
func.func @found_inside(
    %n: tensor<i32>, %x: tensor<8x4xf32>,
    %w: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    // CHECK: stablehlo.multiply {{.*}}[{}, {"x"}]
    %z = stablehlo.multiply %y, %b : tensor<8x4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// A value from outside is exchanged once, in front of the loop. What the body
// gives otherwise is brought back before the next round.
// CHECK-LABEL: func.func @invariants_are_exchanged_outside
func.func @invariants_are_exchanged_outside(
    %n: tensor<i32>,
    %w: tensor<4x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[W:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.while
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    // CHECK-NOT: pm.reshard
    // CHECK: stablehlo.dot_general %{{.*}}, %[[W]]
    %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// A constraint inside a loop holds there.
// CHECK-LABEL: func.func @constraint_inside
func.func @constraint_inside(
    %n: tensor<i32>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    // CHECK: %[[C:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]>
    %q = pm.constrain %y to <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
    // CHECK: %[[T:.*]] = stablehlo.tanh %[[C]] {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]}
    %z = stablehlo.tanh %q : tensor<8x4xf32>
    // CHECK: %[[Z:.*]] = pm.reshard %[[T]] from <@mesh, [{}, {"x"}]> to <@mesh, [{"x"}, {}]>
    // CHECK: stablehlo.return %{{.*}}, %[[Z]]
    stablehlo.return %j, %z : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// A sum that starts from zero and to which the body only adds is made whole
// once, behind the loop.
// CHECK-LABEL: func.func @accumulation_is_reduced_once
func.func @accumulation_is_reduced_once(
    %n: tensor<i32>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<8x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  // CHECK: stablehlo.while
  // CHECK-SAME: #pm.sharding<@mesh, [{}, {}], partial = sum{"x"}>
  %r:2 = stablehlo.while(%i = %zero, %s = %zeros) : tensor<i32>, tensor<4x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    // CHECK: stablehlo.dot_general
    // CHECK-NOT: pm.reshard
    // CHECK: stablehlo.add {{.*}}partial = sum{"x"}
    %t = stablehlo.add %s, %g : tensor<4x3xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<4x3xf32>
  }
  // CHECK: pm.reshard %{{.*}} from <@mesh, [{}, {}], partial = sum{"x"}> to <@mesh, [{}, {}]>
  return %r#1 : tensor<4x3xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Where the body needs the sum, it is made whole in each round.
// CHECK-LABEL: func.func @used_sums_are_reduced_inside
func.func @used_sums_are_reduced_inside(
    %n: tensor<i32>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<8x3xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  // CHECK: stablehlo.while
  // CHECK-SAME: pm.shardings = [#pm.sharding<@mesh, []>, #pm.sharding<@mesh, [{}, {}]>]
  %r:2 = stablehlo.while(%i = %zero, %s = %zeros) : tensor<i32>, tensor<4x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %h = stablehlo.tanh %s : tensor<4x3xf32>
    // CHECK: %[[G:.*]] = pm.reshard %{{.*}}partial = sum{"x"}
    // CHECK: stablehlo.add %{{.*}}, %[[G]]
    %t = stablehlo.add %h, %g : tensor<4x3xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<4x3xf32>
  }
  return %r#1 : tensor<4x3xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @zeros_alone_are_not_partial
func.func @zeros_alone_are_not_partial(%n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
  // CHECK: stablehlo.while
  // CHECK-NOT: partial
  %r:2 = stablehlo.while(%i = %zero, %s = %zeros) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.negate %s : tensor<4xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @branches
func.func @branches(
    %p: tensor<i1>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> tensor<8x4xf32> {
  %0 = "stablehlo.if"(%p) ({
    // CHECK: %[[T:.*]] = stablehlo.tanh {{.*}}[{"x"}, {}]
    // CHECK: stablehlo.return %[[T]]
    %1 = stablehlo.tanh %x : tensor<8x4xf32>
    stablehlo.return %1 : tensor<8x4xf32>
  }, {
    // CHECK: %[[Y:.*]] = pm.reshard %{{.*}} from <@mesh, [{}, {}]> to <@mesh, [{"x"}, {}]>
    // CHECK: stablehlo.return %[[Y]]
    stablehlo.return %y : tensor<8x4xf32>
  }) : (tensor<i1>) -> tensor<8x4xf32>
  // CHECK: }) {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]}
  return %0 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// The result of a choice is partial where that of every branch is, or zero.
// CHECK-LABEL: func.func @partial_branches
func.func @partial_branches(
    %i: tensor<i32>,
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.case"
  %0:2 = "stablehlo.case"(%i) ({
    stablehlo.return %s, %s : tensor<4xf32>, tensor<4xf32>
  }, {
    stablehlo.return %zeros, %w : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: }) {pm.shardings = [#pm.sharding<@mesh, [{}]>, #pm.sharding<@mesh, [{}]>]}
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Each value of a barrier is for itself.
// CHECK-LABEL: func.func @barrier
func.func @barrier(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<4x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  // CHECK: stablehlo.optimization_barrier
  // CHECK-SAME: pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>, #pm.sharding<@mesh, [{}, {"x"}]>]
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<8x4xf32>, tensor<4x8xf32>
  // CHECK-NOT: pm.reshard
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<4x8xf32>
}
