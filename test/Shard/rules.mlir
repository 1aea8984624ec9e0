// The rule of each op, seen through what propagation makes of one cut operand.
// RUN: pmopt %s --pm-propagate --split-input-file | FileCheck %s

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @dot_general
func.func @dot_general(
    %a: tensor<4x6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %b: tensor<4x8x10xf32>) -> tensor<4x6x10xf32> {
  // CHECK: stablehlo.dot_general {{.*}}[{"x"}, {"y"}, {}]>]
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x6x8xf32>, tensor<4x8x10xf32>) -> tensor<4x6x10xf32>
  return %0 : tensor<4x6x10xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @reshape_splits_and_merges
// CHECK-SAME: tensor<24x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}]>}
func.func @reshape_splits_and_merges(
    %a: tensor<4x6x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"x", "y"}, {}, {}]>},
    %b: tensor<4x6x2xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}, {}]>},
    %c: tensor<24x2xf32>) -> (tensor<24x2xf32>, tensor<24x2xf32>, tensor<4x6x2xf32>, tensor<16x3xf32>) {
  // The major part of a merged dimension goes through.
  // CHECK: stablehlo.reshape {{.*}}[{"x", "y"}, {}]>]
  %0 = stablehlo.reshape %a : (tensor<4x6x2xf32>) -> tensor<24x2xf32>
  // The minor part alone does not.
  // CHECK: pm.reshard %{{.*}} from <@mesh, [{}, {"x"}, {}]> to <@mesh, [{}, {}, {}]>
  // CHECK: stablehlo.reshape {{.*}}[{}, {}]>]
  %1 = stablehlo.reshape %b : (tensor<4x6x2xf32>) -> tensor<24x2xf32>
  %2 = stablehlo.add %0, %c : tensor<24x2xf32>
  // CHECK: stablehlo.reshape {{.*}}[{"x", "y"}, {}, {}]>]
  %3 = stablehlo.reshape %2 : (tensor<24x2xf32>) -> tensor<4x6x2xf32>
  // 24 and 16 share 8; both axes divide it.
  // CHECK: stablehlo.reshape {{.*}}[{"x", "y"}, {}]>]
  %4 = stablehlo.reshape %2 : (tensor<24x2xf32>) -> tensor<16x3xf32>
  return %1, %2, %3, %4 : tensor<24x2xf32>, tensor<24x2xf32>, tensor<4x6x2xf32>, tensor<16x3xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @shape_ops
func.func @shape_ops(
    %a: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<5x6x4xf32>, tensor<4x9xf32>, tensor<4x2xf32>, tensor<4x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.transpose {{.*}}[{}, {"x"}]>]
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.broadcast_in_dim {{.*}}[{}, {}, {"x"}]>]
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<6x4xf32>) -> tensor<5x6x4xf32>
  // CHECK: stablehlo.slice {{.*}}[{"x"}, {}]>]
  %2 = stablehlo.slice %a [0:4, 1:4] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.concatenate {{.*}}[{"x"}, {}]>]
  %3 = stablehlo.concatenate %a, %2, dim = 1 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>
  // CHECK: stablehlo.pad {{.*}}[{"x"}, {}]>]
  %4 = stablehlo.pad %2, %zero, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.dynamic_slice {{.*}}[{"x"}, {}]>]
  %5 = stablehlo.dynamic_slice %4, %i, %i, sizes = [4, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
  // CHECK: stablehlo.reverse {{.*}}[{"x"}, {}]>]
  %6 = stablehlo.reverse %a, dims = [1] : tensor<4x6xf32>
  // CHECK: stablehlo.dynamic_update_slice {{.*}}[{"x"}, {}]>]
  %7 = stablehlo.dynamic_update_slice %6, %5, %i, %i : (tensor<4x6xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return %1, %3, %5, %7 : tensor<5x6x4xf32>, tensor<4x9xf32>, tensor<4x2xf32>, tensor<4x6xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Dimensions between which elements move are cut alike; partitioning exchanges
// what has to move.
// CHECK-LABEL: func.func @moved_dimensions_are_cut_alike
func.func @moved_dimensions_are_cut_alike(
    %a: tensor<4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>, tensor<7x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.slice {{.*}}[{"x"}, {}]>]
  %0 = stablehlo.slice %a [1:4, 0:6] : (tensor<4x6xf32>) -> tensor<3x6xf32>
  // CHECK: stablehlo.concatenate {{.*}}[{"x"}, {}]>]
  %1 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: stablehlo.reverse {{.*}}[{"x"}, {}]>]
  %2 = stablehlo.reverse %a, dims = [0] : tensor<4x6xf32>
  // CHECK: stablehlo.pad {{.*}}[{"x"}, {}]>]
  %3 = stablehlo.pad %a, %zero, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x6xf32>
  return %0, %1, %2, %3 : tensor<3x6xf32>, tensor<8x6xf32>, tensor<4x6xf32>, tensor<7x6xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// Windows of a cut dimension: a rank gives what it has, and writes into what it
// has.
// CHECK-LABEL: func.func @windows
func.func @windows(
    %a: tensor<8x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<3x6xf32>, %i: tensor<i32>) -> (tensor<2x6xf32>, tensor<8x6xf32>, tensor<1x6xf32>) {
  // CHECK: stablehlo.dynamic_slice {{.*}}[{}, {}], partial = sum{"x"}>]
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  // CHECK: stablehlo.dynamic_update_slice {{.*}}[{"x"}, {}]>]
  %1 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<8x6xf32>, tensor<3x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  // CHECK: stablehlo.slice {{.*}}[{}, {}], partial = sum{"x"}>]
  %2 = stablehlo.slice %a [7:8, 0:6] : (tensor<8x6xf32>) -> tensor<1x6xf32>
  return %0, %1, %2 : tensor<2x6xf32>, tensor<8x6xf32>, tensor<1x6xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// CHECK-LABEL: func.func @indexed_dimensions
func.func @indexed_dimensions(
    %table: tensor<10x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %flags: tensor<10x4xi1> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %ids: tensor<6x1xi32> {pm.sharding = #pm.sharding<@mesh, [{"y"}, {}]>},
    %rows: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xi1>, tensor<10x4xf32>, tensor<10x4xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<10x4xf32>
  // CHECK: "stablehlo.gather"{{.*}}[{"y"}, {}], partial = sum{"x"}>]
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  // Booleans are joined by a maximum.
  // CHECK: "stablehlo.gather"{{.*}}[{"y"}, {}], partial = max{"x"}>]
  %1 = "stablehlo.gather"(%flags, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xi1>, tensor<6x1xi32>) -> tensor<6x4xi1>
  // Cut updates of a sum into zeros give parts of the result.
  // CHECK: "stablehlo.scatter"
  // CHECK: }) {{.*}}[{}, {}], partial = sum{"y"}>]
  %2 = "stablehlo.scatter"(%zeros, %ids, %rows) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<10x4xf32>
  // The last update of an element counts: all of them on every rank.
  // CHECK: pm.reshard %{{.*}} from <@mesh, [{"y"}, {}]> to <@mesh, [{}, {}]> {{.*}} : tensor<6x1xi32>
  // CHECK: "stablehlo.scatter"
  // CHECK: }) {{.*}}[{"x"}, {}]>]
  %3 = "stablehlo.scatter"(%table, %ids, %rows) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<10x4xf32>
  return %0, %1, %2, %3 : tensor<6x4xf32>, tensor<6x4xi1>, tensor<10x4xf32>, tensor<10x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @reductions
func.func @reductions(
    %a: tensor<8x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8x6xi1> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<6xf32>, tensor<6xi1>, tensor<6xf32>, tensor<8x6xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %false = stablehlo.constant dense<false> : tensor<i1>
  // CHECK: stablehlo.maximum {{.*}}[{}], partial = max{"x"}>]
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
  // CHECK: stablehlo.or {{.*}}[{}], partial = max{"x"}>]
  %1 = stablehlo.reduce(%b init: %false) applies stablehlo.or across dimensions = [0] : (tensor<8x6xi1>, tensor<i1>) -> tensor<6xi1>
  // No collective multiplies: the rule keeps the cut, and partitioning joins.
  // CHECK-NOT: pm.reshard
  // CHECK: stablehlo.multiply {{.*}}[{}]>]
  %2 = stablehlo.reduce(%a init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
  // CHECK: "stablehlo.reduce_window"
  // CHECK: }) {{.*}}[{"x"}, {}]>]
  %3 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  return %0, %1, %2, %3 : tensor<6xf32>, tensor<6xi1>, tensor<6xf32>, tensor<8x6xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 3>]

// CHECK-LABEL: func.func @convolution
func.func @convolution(
    %x: tensor<4x6x8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %depthwise: tensor<6x1x3xf32>, %full: tensor<5x6x1xf32>) -> (tensor<4x6x8xf32>, tensor<4x5x8xf32>) {
  // Groups are parallel.
  // CHECK: stablehlo.convolution{{.*}}[{"x"}, {"y"}, {}]>]
  %0 = stablehlo.convolution(%x, %depthwise) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<4x6x8xf32>, tensor<6x1x3xf32>) -> tensor<4x6x8xf32>
  // Input features are summed.
  // CHECK: stablehlo.convolution{{.*}}[{"x"}, {}, {}], partial = sum{"y"}>]
  %1 = stablehlo.convolution(%x, %full) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x8xf32>, tensor<5x6x1xf32>) -> tensor<4x5x8xf32>
  return %0, %1 : tensor<4x6x8xf32>, tensor<4x5x8xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @gather
func.func @gather(
    %table: tensor<10x4xf32>,
    %ids: tensor<2x3x1xi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<2x3x4xf32> {
  // CHECK: "stablehlo.gather"{{.*}}[{"x"}, {}, {}]>]
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>]

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(
    %p: tensor<i1>, %low: tensor<f32>,
    %a: tensor<4xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  // CHECK: stablehlo.clamp {{.*}}[{"x"}]>]
  %0 = stablehlo.clamp %low, %a, %low : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.select {{.*}}[{"x"}]>]
  %1 = stablehlo.select %p, %0, %a : tensor<i1>, tensor<4xf32>
  // CHECK: stablehlo.compare {{.*}}[{"x"}]>]
  %2 = stablehlo.compare LT, %1, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: chlo.erf {{.*}}[{"x"}]>]
  %3 = chlo.erf %1 : tensor<4xf32> -> tensor<4xf32>
  return %1, %2, %3 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @embedding
func.func @embedding(
    %t: tensor<10x4xf32> {pm.state = #pm.state<parameter, "t">},
    %ids: tensor<8x3xi32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<10x4xf32> {
  // CHECK: pm.embedding {{.*}}[{"dp"}, {}, {}]>]
  %0 = pm.embedding %t, %ids : (tensor<10x4xf32>, tensor<8x3xi32>) -> tensor<8x3x4xf32>
  // CHECK: pm.embedding_grad {{.*}}[{}, {}], partial = sum{"dp"}
  %1 = pm.embedding_grad %ids, %0 : (tensor<8x3xi32>, tensor<8x3x4xf32>) -> tensor<10x4xf32>
  return %1 : tensor<10x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(
    %w: tensor<4xf32> {pm.state = #pm.state<parameter, "w">},
    %x: tensor<8x3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<4xf32>, tensor<8x3x4xf32>) {
  // CHECK: pm.rms_norm {{.*}}[{"dp"}, {}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>]
  %y, %r = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x3x4xf32>, tensor<4xf32> -> tensor<8x3xf32>
  // CHECK: pm.rms_norm_weight_grad {{.*}}[{}], partial = sum{"dp"}
  %dw = pm.rms_norm_weight_grad %x, %r, %y : tensor<8x3x4xf32>, tensor<8x3xf32> -> tensor<4xf32>
  // CHECK: pm.rms_norm_input_grad {{.*}}[{"dp"}, {}, {}]>]
  %dx = pm.rms_norm_input_grad %x, %w, %r, %y : tensor<8x3x4xf32>, tensor<4xf32>, tensor<8x3xf32>
  return %dw, %dx : tensor<4xf32>, tensor<8x3x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(
    %w: tensor<4xf32> {pm.state = #pm.state<parameter, "w">},
    %b: tensor<4xf32> {pm.state = #pm.state<parameter, "b">},
    %x: tensor<8x3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<4xf32>, tensor<8x3x4xf32>) {
  // CHECK: pm.layer_norm {{.*}}[{"dp"}, {}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>]
  %y, %m, %r = pm.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<8x3x4xf32>, tensor<4xf32> -> tensor<8x3xf32>
  // CHECK: pm.layer_norm_weight_grad {{.*}}[{}], partial = sum{"dp"}
  %dw = pm.layer_norm_weight_grad %x, %m, %r, %y : tensor<8x3x4xf32>, tensor<8x3xf32> -> tensor<4xf32>
  // CHECK: pm.layer_norm_input_grad {{.*}}[{"dp"}, {}, {}]>]
  %dx = pm.layer_norm_input_grad %x, %w, %m, %r, %y : tensor<8x3x4xf32>, tensor<4xf32>, tensor<8x3xf32>
  return %dw, %dx : tensor<4xf32>, tensor<8x3x4xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]

// Heads are cut by key head, so that groups stay together.
// CHECK-LABEL: func.func @attention
func.func @attention(
    %q: tensor<8x3x4x6xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>},
    %k: tensor<8x3x2x6xf32>, %v: tensor<8x3x2x6xf32>,
    %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<8x3x2x6xf32> {
  // CHECK: pm.rope {{.*}}[{"dp"}, {}, {"tp"}, {}]>]
  %qr = pm.rope %q, %cos, %sin : tensor<8x3x4x6xf32>, tensor<3x3xf32>
  // CHECK: pm.attention {{.*}}[{"dp"}, {}, {"tp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {"tp"}, {}]>]
  %o, %lse = pm.attention %qr, %k, %v scale 0.5 causal : tensor<8x3x4x6xf32>, tensor<8x3x2x6xf32> -> tensor<8x4x3xf32>
  // CHECK: pm.attention_grad {{.*}}[{"dp"}, {}, {"tp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>]
  %dq, %dk, %dv = pm.attention_grad %qr, %k, %v, %o, %lse, %o scale 0.5 causal : tensor<8x3x4x6xf32>, tensor<8x3x2x6xf32>, tensor<8x4x3xf32>
  return %dk : tensor<8x3x2x6xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(
    %l: tensor<8x3x10xf32>,
    %t: tensor<8x3xi32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8x3x10xf32> {
  // CHECK: pm.cross_entropy {{.*}}[{"dp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>]
  %nll, %lse = pm.cross_entropy %l, %t : tensor<8x3x10xf32>, tensor<8x3xi32> -> tensor<8x3xf32>
  // CHECK: pm.cross_entropy_grad {{.*}}[{"dp"}, {}, {}]>]
  %dl = pm.cross_entropy_grad %l, %t, %lse, %nll : tensor<8x3x10xf32>, tensor<8x3xi32>, tensor<8x3xf32>
  return %dl : tensor<8x3x10xf32>
}

// -----

pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @adamw
func.func @adamw(
    %p: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>}, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %v: tensor<8x4xf32>, %s: tensor<f32>) -> tensor<8x4xf32> {
  // CHECK: pm.adamw {{.*}}[{"dp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>, #pm.sharding<@mesh, [{"dp"}, {}]>]
  %p2, %m2, %v2 = pm.adamw %p, %g, %m, %v scalars %s, %s, %s, %s, %s, %s, %s decay : tensor<8x4xf32>, tensor<f32>
  return %p2 : tensor<8x4xf32>
}
