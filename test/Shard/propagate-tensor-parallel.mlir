// What follows from weights that are cut over tensor-parallel ranks.
// RUN: pmopt %s --pm-propagate --split-input-file | FileCheck %s
// RUN: pmopt %s --pm-propagate --split-input-file > %t.once
// RUN: pmopt %t.once --pm-propagate --split-input-file > %t.twice
// RUN: diff %t.once %t.twice

pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 2>, <"tp", spatial = 2>, <"mb", temporal = 2>]

// Columns, then rows: one sum, and the bias behind it.
// CHECK-LABEL: func.func @columns_then_rows
func.func @columns_then_rows(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "mb"}, {}]>},
    %a: tensor<6x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "a">},
    %b: tensor<6xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}]>, pm.state = #pm.state<parameter, "b">},
    %c: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>, pm.state = #pm.state<parameter, "c">},
    %d: tensor<4xf32> {pm.state = #pm.state<parameter, "d">}) -> tensor<8x4xf32> {
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.tanh {{.*}}[{"dp", "mb"}, {"tp"}]>]
  // CHECK: %[[Y:.*]] = stablehlo.dot_general {{.*}}[{"dp", "mb"}, {}], partial = sum{"tp"}
  // CHECK: %[[R:.*]] = pm.reshard %[[Y]]
  // CHECK: stablehlo.add %[[R]]
  // CHECK-NOT: pm.reshard
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x6xf32>
  %3 = stablehlo.tanh %2 : tensor<8x6xf32>
  %4 = stablehlo.dot_general %3, %c, contracting_dims = [1] x [1] : (tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<8x4xf32>
  %5 = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %6 = stablehlo.add %4, %5 : tensor<8x4xf32>
  return %6 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]

// What goes back to the input of several column-parallel products is added, and
// reduced once, in front of its users: neither they nor the weight's gradient
// would have less to reduce.
// CHECK-LABEL: func.func @reduced_once_in_front_of_its_users
func.func @reduced_once_in_front_of_its_users(
    %x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4xf32> {pm.state = #pm.state<parameter, "g">},
    %a: tensor<6x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "a">},
    %b: tensor<6x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "b">},
    %dp: tensor<8x6xf32>, %dq: tensor<8x6xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %n, %rstd = pm.rms_norm %x, %g epsilon 1.0e-5 : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  %d1 = stablehlo.dot_general %dp, %a, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %d2 = stablehlo.dot_general %dq, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  // CHECK: %[[S:.*]] = stablehlo.add {{.*}}[{"dp"}, {}], partial = sum{"tp"}
  // CHECK: %[[R:.*]] = pm.reshard %[[S]] from {{.*}} partial = sum{"tp"}
  // CHECK: pm.rms_norm_input_grad {{.*}}, %[[R]] {{.*}}[{"dp"}, {}]>]
  // CHECK: pm.rms_norm_weight_grad {{.*}}, %[[R]] {{.*}}[{}], partial = sum{"dp"}
  %d = stablehlo.add %d1, %d2 : tensor<8x4xf32>
  %dx = pm.rms_norm_input_grad %x, %g, %rstd, %d : tensor<8x4xf32>, tensor<4xf32>, tensor<8xf32>
  %dg = pm.rms_norm_weight_grad %x, %rstd, %d : tensor<8x4xf32>, tensor<8xf32> -> tensor<4xf32>
  return %dx, %dg : tensor<8x4xf32>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"tp", spatial = 2>]

// The norm of each head: its weight is whole, and its gradient is summed over the
// heads of all ranks.
// CHECK-LABEL: func.func @norms_of_heads
func.func @norms_of_heads(
    %g: tensor<4xf32> {pm.state = #pm.state<parameter, "g">},
    %x: tensor<8x24xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
  // CHECK: stablehlo.reshape {{.*}}[{}, {"tp"}, {}]>]
  %0 = stablehlo.reshape %x : (tensor<8x24xf32>) -> tensor<8x6x4xf32>
  // CHECK: pm.rms_norm {{.*}}[{}, {"tp"}, {}]>, #pm.sharding<@mesh, [{}, {"tp"}]>]
  %n, %rstd = pm.rms_norm %0, %g epsilon 1.0e-5 : tensor<8x6x4xf32>, tensor<4xf32> -> tensor<8x6xf32>
  // CHECK: pm.rms_norm_weight_grad {{.*}}[{}], partial = sum{"tp"}
  %dg = pm.rms_norm_weight_grad %0, %rstd, %n : tensor<8x6x4xf32>, tensor<8x6xf32> -> tensor<4xf32>
  return %dg : tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"tp", spatial = 2>]

// A fused projection, viewed as [model, 3, heads * size]: the three parts are cut
// alike.
// CHECK-LABEL: func.func @fused_projection
func.func @fused_projection(
    %x: tensor<2x5x4xf32>,
    %w: tensor<4x3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"tp"}]>, pm.state = #pm.state<parameter, "w">}) -> (tensor<2x5x2x4xf32>, tensor<4x3x8xf32>) {
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.dot_general {{.*}}[{}, {}, {}, {"tp"}]>]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x5x4xf32>, tensor<4x3x8xf32>) -> tensor<2x5x3x8xf32>
  // CHECK: stablehlo.slice {{.*}}[{}, {}, {}, {"tp"}]>]
  %1 = stablehlo.slice %0 [0:2, 0:5, 1:2, 0:8] : (tensor<2x5x3x8xf32>) -> tensor<2x5x1x8xf32>
  // CHECK: stablehlo.reshape {{.*}}[{}, {}, {"tp"}, {}]>]
  %2 = stablehlo.reshape %1 : (tensor<2x5x1x8xf32>) -> tensor<2x5x2x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.pad {{.*}}[{}, {}, {}, {"tp"}]>]
  %3 = stablehlo.pad %1, %zero, low = [0, 0, 1, 0], high = [0, 0, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x5x1x8xf32>, tensor<f32>) -> tensor<2x5x3x8xf32>
  // CHECK: stablehlo.dot_general {{.*}}[{}, {}, {"tp"}]>]
  %4 = stablehlo.dot_general %x, %3, contracting_dims = [0, 1] x [0, 1] : (tensor<2x5x4xf32>, tensor<2x5x3x8xf32>) -> tensor<4x3x8xf32>
  return %2, %4 : tensor<2x5x2x4xf32>, tensor<4x3x8xf32>
}

// -----

pm.mesh @mesh = [<"tp.kv", spatial = 2>, <"tp.group", spatial = 2>]

// Query heads over both axes, key heads over the outer one. The gradients of keys
// and values are partial over the members of a group; those of queries are not.
// CHECK-LABEL: func.func @key_groups
func.func @key_groups(
    %q: tensor<1x5x8x2xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"tp.kv", "tp.group"}, {}]>},
    %k: tensor<1x5x2x2xf32>, %v: tensor<1x5x2x2xf32>) -> (tensor<1x5x8x2xf32>, tensor<1x5x2x2xf32>) {
  // CHECK: pm.attention {{.*}}[{}, {}, {"tp.kv", "tp.group"}, {}]>, #pm.sharding<@mesh, [{}, {"tp.kv", "tp.group"}, {}]>]
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<1x5x8x2xf32>, tensor<1x5x2x2xf32> -> tensor<1x8x5xf32>
  // CHECK: pm.attention_grad {{.*}}pm.shardings = [#pm.sharding<@mesh, [{}, {}, {"tp.kv", "tp.group"}, {}]>, #pm.sharding<@mesh, [{}, {}, {"tp.kv"}, {}], partial = sum{"tp.group"}>, #pm.sharding<@mesh, [{}, {}, {"tp.kv"}, {}], partial = sum{"tp.group"}>]
  %dq, %dk, %dv = pm.attention_grad %q, %k, %v, %o, %lse, %o scale 0.5 causal : tensor<1x5x8x2xf32>, tensor<1x5x2x2xf32>, tensor<1x8x5xf32>
  return %dq, %dv : tensor<1x5x8x2xf32>, tensor<1x5x2x2xf32>
}

// -----

pm.mesh @mesh = [<"tp", spatial = 2>]

// CHECK-LABEL: func.func @vocabulary
func.func @vocabulary(
    %t: tensor<10x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "t">},
    %ids: tensor<8xi32>) -> tensor<10x4xf32> {
  // CHECK: pm.embedding {{.*}}[{}, {}], partial = sum{"tp"}
  %x = pm.embedding %t, %ids : (tensor<10x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.dot_general {{.*}}[{}, {"tp"}]>]
  %l = stablehlo.dot_general %x, %t, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<10x4xf32>) -> tensor<8x10xf32>
  // CHECK: pm.cross_entropy {{.*}}pm.shardings = [#pm.sharding<@mesh, [{}]>, #pm.sharding<@mesh, [{}]>]
  %nll, %lse = pm.cross_entropy %l, %ids : tensor<8x10xf32>, tensor<8xi32> -> tensor<8xf32>
  // CHECK: pm.cross_entropy_grad {{.*}}[{}, {"tp"}]>]
  %dl = pm.cross_entropy_grad %l, %ids, %lse, %nll : tensor<8x10xf32>, tensor<8xi32>, tensor<8xf32>
  // CHECK: stablehlo.dot_general {{.*}}[{"tp"}, {}]>]
  %d1 = stablehlo.dot_general %dl, %x, contracting_dims = [0] x [0] : (tensor<8x10xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  // CHECK: pm.embedding_grad {{.*}}[{"tp"}, {}]>]
  %d2 = pm.embedding_grad %ids, %x : (tensor<8xi32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  %d = stablehlo.add %d1, %d2 : tensor<10x4xf32>
  return %d : tensor<10x4xf32>
}

// -----

pm.mesh @mesh = [<"tp", spatial = 3>]

// A dimension that does not divide is cut where it is one factor, and not where
// it is taken apart.
// CHECK-LABEL: func.func @uneven
func.func @uneven(
    %w: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "w">},
    %x: tensor<2x4xf32>) -> tensor<2x2x4xf32> {
  // CHECK: %[[Y:.*]] = stablehlo.dot_general {{.*}}[{}, {"tp"}]>]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  // CHECK: %[[R:.*]] = pm.reshard %[[Y]] from <@mesh, [{}, {"tp"}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.reshape %[[R]]
  %1 = stablehlo.reshape %0 : (tensor<2x8xf32>) -> tensor<2x2x4xf32>
  return %1 : tensor<2x2x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Without priorities the larger value wins; the lower number binds first.
// CHECK-LABEL: func.func @without_priorities
func.func @without_priorities(
    %a: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<16x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x4xf32> {
  // CHECK: stablehlo.dot_general {{.*}}[{"x"}, {}]
  // CHECK: stablehlo.negate {{.*}}[{"x"}, {}]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @lower_priorities_bind_first
func.func @lower_priorities_bind_first(
    %a: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}p1, {}]>},
    %b: tensor<16x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}p0]>},
    %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[A:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %[[A]], {{.*}}[{}, {"x"}]
  // CHECK: stablehlo.add {{.*}}[{}, {"x"}]
  // CHECK-NOT: pm.reshard
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.add %0, %c : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @moments_lie_as_their_parameter
// CHECK-SAME: pm.sharding = #pm.sharding<@mesh, [{"x"}]>, pm.state = #pm.state<parameter, "w">
// CHECK-SAME: pm.sharding = #pm.sharding<@mesh, [{"x"}]>, pm.state = #pm.state<moment1, "w">
// CHECK-SAME: pm.sharding = #pm.sharding<@mesh, [{}]>, pm.state = #pm.state<moment2, "v">
func.func @moments_lie_as_their_parameter(
    %w: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>, pm.state = #pm.state<parameter, "w">},
    %m: tensor<4xf32> {pm.state = #pm.state<moment1, "w">},
    %n: tensor<4xf32> {pm.state = #pm.state<moment2, "v">}) {
  return
}
