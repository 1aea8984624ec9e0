// RUN: pmopt %s --pm-materialize-accumulation | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4x8xf32> sharding <@mesh, [{"dp", "mb"}, {}]>
  pm.buffer @dw accumulator : tensor<8x8xf32> sharding <@mesh, [{}, {}], partial = sum{"dp", "mb"}>
  pm.buffer @db accumulator : tensor<8xf32> sharding <@mesh, [{}], partial = sum{"dp", "mb"}>
  pm.buffer @plain value : tensor<8xf32> sharding <@mesh, [{}], partial = sum{"dp"}>
}

// A matrix product adds to its buffer by itself; other results get an add; a
// value that is partial over ranks only is left alone.
// CHECK-LABEL: func.func @stage0_backward
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: tensor<8xf32> {pm.buffer = @db})
// CHECK: stablehlo.dot_general {{.*}} {pmrt.accumulate}
// CHECK: %[[B:.*]] = stablehlo.reduce
// CHECK: %[[SUM:.*]] = stablehlo.add %[[OLD]], %[[B]]
// CHECK: return %{{.*}}, %[[SUM]], %[[B]]
func.func @stage0_backward(%x: tensor<4x8xf32> {pm.buffer = @x})
    -> (tensor<8x8xf32> {pm.buffer = @dw}, tensor<8xf32> {pm.buffer = @db}, tensor<8xf32> {pm.buffer = @plain})
    attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dw = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %db = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %dw, %db, %db : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>
}
