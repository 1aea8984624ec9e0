// The tour of README.md.

// RUN: pmopt %s --pm-differentiate --pm-shard-pipeline=strategy=dp=2,mb=2 | FileCheck %s --check-prefix=SHARDED
// RUN: pmopt %s --pm-differentiate --pm-shard-pipeline=strategy=dp=2,mb=2 --pm-fragment-pipeline \
// RUN:   --pm-partition-pipeline --pm-schedule-pipeline | FileCheck %s

module attributes {pm.task = "train", pm.batch = 8 : i64} {
  func.func @main(%x: tensor<8x20xf32> {pm.input = "x"},
                  %w: tensor<2x20xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<8x20xf32>, tensor<2x20xf32>) -> tensor<8x2xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// SHARDED:      pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
// SHARDED:      %[[G:.*]] = stablehlo.dot_general {{.*}}pm.phase = "backward"
// SHARDED-SAME:   pm.shardings = [#pm.sharding<@mesh, [{}, {}], partial = sum{"dp", "mb"}>]
// SHARDED:      pm.reshard %[[G]] from <@mesh, [{}, {}], partial = sum{"dp", "mb"}> to <@mesh, [{}, {}]>

// CHECK-LABEL: func.func @stage0_forward
// CHECK:         stablehlo.dot_general {{.*}} : (tensor<2x20xf32>, tensor<2x20xf32>) -> tensor<2x2xf32>
// CHECK-LABEL: func.func @stage0_backward
// CHECK-NOT:     pm.all_reduce
// CHECK-LABEL: func.func @stage0_update
// CHECK:         pm.all_reduce {{.*}} over ["dp"] on @mesh
// CHECK-NOT:     pm.all_reduce
// CHECK:         pm.adamw
// CHECK:       pm.role 0 {
// CHECK-NEXT:    pm.action forward stage 0 micro_batch 0
// CHECK-NEXT:    pm.action backward stage 0 micro_batch 0
// CHECK-NEXT:    pm.action forward stage 0 micro_batch 1
// CHECK-NEXT:    pm.action backward stage 0 micro_batch 1
// CHECK-NEXT:    pm.action update stage 0 micro_batch 0
