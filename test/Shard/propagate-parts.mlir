// Pieces that are not equal, and axes that ops use in parts.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded --split-input-file | FileCheck %s
// RUN: pmopt %s --pm-propagate --split-input-file > %t.once
// RUN: pmopt %t.once --pm-propagate --split-input-file > %t.twice
// RUN: diff %t.once %t.twice

pm.mesh @mesh = [<"tp", spatial = 2>]

// Nine query heads of 4 share three key heads: 6 + 3. Their columns, 36, are cut
// in blocks of 24.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}b8]>}
// CHECK-SAME: tensor<8x36xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}b24]>}
func.func @heads(
    %x: tensor<5x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>},
    %wk: tensor<8x12xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}b8]>},
    %wq: tensor<8x36xf32>) -> tensor<3x3x5x5xf32> {
  %k = stablehlo.dot_general %x, %wk, contracting_dims = [1] x [0] : (tensor<5x8xf32>, tensor<8x12xf32>) -> tensor<5x12xf32>
  // CHECK: stablehlo.reshape {{.*}}[{}, {"tp"}, {}]
  %kh = stablehlo.reshape %k : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
  %q = stablehlo.dot_general %x, %wq, contracting_dims = [1] x [0] : (tensor<5x8xf32>, tensor<8x36xf32>) -> tensor<5x36xf32>
  // CHECK: stablehlo.reshape {{.*}}[{}, {"tp"}b6, {}]
  %q9 = stablehlo.reshape %q : (tensor<5x36xf32>) -> tensor<5x9x4xf32>
  // CHECK: stablehlo.reshape {{.*}}[{}, {"tp"}, {}, {}]
  %qh = stablehlo.reshape %q9 : (tensor<5x9x4xf32>) -> tensor<5x3x3x4xf32>
  // CHECK: stablehlo.dot_general {{.*}}[{"tp"}, {}, {}, {}]
  // CHECK-NOT: pm.reshard
  %s = stablehlo.dot_general %qh, %kh, batching_dims = [1] x [1], contracting_dims = [3] x [2] : (tensor<5x3x3x4xf32>, tensor<5x3x4xf32>) -> tensor<3x5x3x5xf32>
  %t = stablehlo.transpose %s, dims = [0, 2, 1, 3] : (tensor<3x5x3x5xf32>) -> tensor<3x3x5x5xf32>
  return %t : tensor<3x3x5x5xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 4>]

// Fewer rows than ranks, and none at all.
// CHECK-LABEL: func.func @empty_shards
func.func @empty_shards(
    %a: tensor<3x5xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<0x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<15xf32>, tensor<0x2xf32>) {
  // CHECK: stablehlo.reshape {{.*}}[{"x"}b5]
  %0 = stablehlo.reshape %a : (tensor<3x5xf32>) -> tensor<15xf32>
  // CHECK: stablehlo.negate {{.*}}[{"x"}, {}]
  %1 = stablehlo.negate %b : tensor<0x2xf32>
  // CHECK-NOT: pm.reshard
  return %0, %1 : tensor<15xf32>, tensor<0x2xf32>
}

// -----

pm.mesh @mesh = [<"x", spatial = 2>, <"y", spatial = 2>]

// A minor factor is cut in equal pieces or not at all.
// CHECK-LABEL: func.func @uneven_minor_factors_are_dropped
func.func @uneven_minor_factors_are_dropped(
    %a: tensor<2x5xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<10xf32> {
  // CHECK: %[[A:.*]] = pm.reshard %{{.*}} from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{"x"}, {}]>
  // CHECK: stablehlo.reshape %[[A]] {{.*}}[{"x"}]
  %0 = stablehlo.reshape %a : (tensor<2x5xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}

// -----

// One axis goes on in two dimensions: it becomes two.
// CHECK: pm.mesh @mesh = [<"x.0", spatial = 2>, <"x.1", spatial = 2>]
pm.mesh @mesh = [<"x", spatial = 4>]

// CHECK-LABEL: func.func @axes_are_split
// CHECK-SAME: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x.0", "x.1"}]>}
func.func @axes_are_split(
    %a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> tensor<2x4xf32> {
  // CHECK: stablehlo.reshape {{.*}}[{"x.0"}, {"x.1"}]
  %0 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<2x4xf32>
  // CHECK-NOT: pm.reshard
  return %0 : tensor<2x4xf32>
}

// -----

// More than once.
// CHECK: pm.mesh @mesh = [<"x.0", spatial = 2>, <"x.1.0", spatial = 2>, <"x.1.1", spatial = 2>]
pm.mesh @mesh = [<"x", spatial = 8>]

// CHECK-LABEL: func.func @split_again
func.func @split_again(
    %a: tensor<8xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}]>}) -> tensor<2x2x2xf32> {
  // CHECK: stablehlo.reshape {{.*}}[{"x.0"}, {"x.1.0"}, {"x.1.1"}]
  %0 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<2x2x2xf32>
  // CHECK-NOT: pm.reshard
  return %0 : tensor<2x2x2xf32>
}
