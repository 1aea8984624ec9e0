// Small gathers and reduce-scatters over the same axes are one exchange.
// RUN: pmopt %s --pm-combine-collectives=bucket-bytes=8000 | FileCheck %s
// RUN: pmopt %s --pm-combine-collectives=bucket-bytes=8000 -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --function=gathers
// RUN: pmcheck equiv %s %t.mlir --function=scatters

pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 3>]

// 7 columns over 3 ranks: the last block has padding, which stays behind.
// CHECK-LABEL: func.func @gathers
// CHECK-DAG: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<4x3xf32>) -> tensor<1x12xf32>
// CHECK-DAG: %[[Y:.*]] = stablehlo.reshape %arg1 : (tensor<2xf32>) -> tensor<1x2xf32>
// CHECK: %[[ROW:.*]] = stablehlo.concatenate %[[X]], %[[Y]], dim = 1
// CHECK: %[[ALL:.*]] = pm.all_gather %[[ROW]] dim 0 over ["tp"] on @mesh : (tensor<1x14xf32>) -> tensor<3x14xf32>
// CHECK-NOT: pm.all_gather
// CHECK: stablehlo.negate
// CHECK: return
func.func @gathers(%x: tensor<4x3xf32>, %y: tensor<2xf32>) -> (tensor<4x7xf32>, tensor<6xf32>) {
  %a = pm.all_gather %x dim 1 over ["tp"] on @mesh : (tensor<4x3xf32>) -> tensor<4x7xf32>
  %n = stablehlo.negate %a : tensor<4x7xf32>
  %b = pm.all_gather %y dim 0 over ["tp"] on @mesh : (tensor<2xf32>) -> tensor<6xf32>
  return %n, %b : tensor<4x7xf32>, tensor<6xf32>
}

// CHECK-LABEL: func.func @scatters
// CHECK: %[[SUM:.*]] = pm.reduce_scatter %{{.*}} sum dim 0 over ["dp", "tp"] on @mesh : (tensor<6x17xf32>) -> tensor<1x17xf32>
// CHECK-NOT: pm.reduce_scatter
// CHECK: return
func.func @scatters(%x: tensor<4x2x11xf32>, %y: tensor<5xf32>) 
    -> (tensor<4x2x2xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}, {"dp", "tp"}]>, pm.global_type = tensor<4x2x11xf32>},
        tensor<1xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", "tp"}]>, pm.global_type = tensor<5xf32>}) {
  %a = pm.reduce_scatter %x sum dim 2 over ["dp", "tp"] on @mesh : (tensor<4x2x11xf32>) -> tensor<4x2x2xf32>
  %b = pm.reduce_scatter %y sum dim 0 over ["dp", "tp"] on @mesh : (tensor<5xf32>) -> tensor<1xf32>
  return %a, %b : tensor<4x2x2xf32>, tensor<1xf32>
}

// One that is large, of other axes, of another type, or that waits stays alone.
// CHECK-LABEL: func.func @others_stay
// CHECK-COUNT-5: pm.all_gather
// CHECK-NOT: pm.all_gather
func.func @others_stay(%x: tensor<4xf32>, %large: tensor<128xf32>, %i: tensor<4xi32>) -> (tensor<8xf32>, tensor<256xf32>, tensor<8xi32>, tensor<16xf32>, tensor<12xf32>) {
  %a = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  %b = pm.all_gather %large dim 0 over ["dp"] on @mesh : (tensor<128xf32>) -> tensor<256xf32>
  %c = pm.all_gather %i dim 0 over ["dp"] on @mesh : (tensor<4xi32>) -> tensor<8xi32>
  %d = pm.all_gather %a dim 0 over ["dp"] on @mesh : (tensor<8xf32>) -> tensor<16xf32>
  %e = pm.all_gather %x dim 0 over ["tp"] on @mesh : (tensor<4xf32>) -> tensor<12xf32>
  return %a, %b, %c, %d, %e : tensor<8xf32>, tensor<256xf32>, tensor<8xi32>, tensor<16xf32>, tensor<12xf32>
}
