// What a cluster's links change: a conflict is settled for the slow axis, and
// where a collective's latency is dear a partial value is reduced once, early.
// RUN: pmopt %s --pm-propagate --split-input-file | FileCheck %s

module attributes {pm.cluster = [
    {name = "inside", size = 2 : i64, bandwidth = 100.0 : f64, latency = 0.01 : f64, reduces = false},
    {name = "outside", size = 0 : i64, bandwidth = 100.0 : f64, latency = 0.01 : f64, reduces = false}]} {
pm.mesh @mesh = [<"dp", spatial = 2>]

// Two exchanges of a quarter each send less than one of the whole.
// CHECK-LABEL: func.func @cheap_latency
func.func @cheap_latency(
    %x: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"dp"}]>},
    %y: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  // CHECK: stablehlo.dot_general
  // CHECK-NEXT: stablehlo.slice
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.slice %0 [0:16, 0:64] : (tensor<64x64xf32>) -> tensor<16x64xf32>
  %2 = stablehlo.slice %0 [16:32, 0:64] : (tensor<64x64xf32>) -> tensor<16x64xf32>
  // CHECK-COUNT-2: pm.reshard
  // CHECK: return
  return %1, %2 : tensor<16x64xf32>, tensor<16x64xf32>
}
}

// -----

module attributes {pm.cluster = [
    {name = "inside", size = 2 : i64, bandwidth = 100.0 : f64, latency = 100.0 : f64, reduces = false},
    {name = "outside", size = 0 : i64, bandwidth = 100.0 : f64, latency = 100.0 : f64, reduces = false}]} {
pm.mesh @mesh = [<"dp", spatial = 2>]

// CHECK-LABEL: func.func @dear_latency
func.func @dear_latency(
    %x: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"dp"}]>},
    %y: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  // CHECK: stablehlo.dot_general
  // CHECK-NEXT: pm.reshard
  // CHECK-NOT: pm.reshard
  // CHECK: return
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.slice %0 [0:16, 0:64] : (tensor<64x64xf32>) -> tensor<16x64xf32>
  %2 = stablehlo.slice %0 [16:32, 0:64] : (tensor<64x64xf32>) -> tensor<16x64xf32>
  return %1, %2 : tensor<16x64xf32>, tensor<16x64xf32>
}
}

// -----

// `a` lies outside, which is eight times as slow: its operand stays, and the
// other one moves.
module attributes {pm.cluster = [
    {name = "inside", size = 2 : i64, bandwidth = 80.0 : f64, latency = 1.0 : f64, reduces = false},
    {name = "outside", size = 0 : i64, bandwidth = 10.0 : f64, latency = 1.0 : f64, reduces = false}]} {
pm.mesh @mesh = [<"a", spatial = 2>, <"b", spatial = 2>]

// CHECK-LABEL: func.func @slow_axis_stays
func.func @slow_axis_stays(
    %x: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"a"}, {}]>},
    %y: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"b"}, {}]>})
    -> tensor<64x64xf32> {
  // CHECK: stablehlo.add {{.*}}[{"a"}, {}]
  %0 = stablehlo.add %x, %y : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @slow_axis_stays_turned
func.func @slow_axis_stays_turned(
    %x: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"b"}, {}]>},
    %y: tensor<64x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"a"}, {}]>})
    -> tensor<64x64xf32> {
  // CHECK: stablehlo.add {{.*}}[{"a"}, {}]
  %0 = stablehlo.add %x, %y : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
}
