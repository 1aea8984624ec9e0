// What ops move by themselves does not tell what a step moves: the other choice is tried
// where two cuts meet, and what is gathered transposed is not gathered again.
// RUN: pmopt %s --pm-propagate --pm-verify-sharded -o %t.sharded.mlir && FileCheck %s < %t.sharded.mlir
// RUN: pmopt %t.sharded.mlir --pm-partition-pipeline -o %t.mlir
// RUN: pmcheck equiv %s %t.mlir --function=gradient_of_logits
// RUN: pmcheck equiv %s %t.mlir --function=tied
// RUN: pmcheck equiv %s %t.mlir --function=ranked

pm.mesh @mesh = [<"x", spatial = 4>]

// A scatter into zeros is cut by the batch as its indices are. Then the 2 KB of %p would
// move to the batch, and all of the 16 KB result be scattered; cut by columns, the
// operands that the batch cuts are gathered, 640 bytes in all.
// CHECK-LABEL: func.func @gradient_of_logits
// CHECK-NOT: partial
// CHECK: stablehlo.add %{{.*}}, %arg0 {pm.shardings = [#pm.sharding<@mesh, [{}, {"x"}]>]}
// CHECK: stablehlo.dot_general %{{.*}} {pm.shardings = [#pm.sharding<@mesh, [{"x"}, {}]>]}
// CHECK: return
func.func @gradient_of_logits(
    %p: tensor<8x256xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}]>},
    %ids: tensor<8x1x1xi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}, {}]>},
    %g: tensor<8x1xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %h: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x256xf32>
  %s = "stablehlo.scatter"(%zeros, %ids, %g) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x256xf32>, tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x256xf32>
  %sum = stablehlo.add %s, %p : tensor<8x256xf32>
  %dw = stablehlo.dot_general %sum, %h, contracting_dims = [0] x [0] : (tensor<8x256xf32>, tensor<8x16xf32>) -> tensor<256x16xf32>
  return %dw : tensor<256x16xf32>
}

// CHECK-LABEL: func.func @tied
// CHECK: %[[W:.*]] = pm.reshard %arg0 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]>
// CHECK-NOT: pm.reshard
// CHECK: %[[T:.*]] = stablehlo.transpose %[[W]], dims = [1, 0]
// CHECK: stablehlo.dot_general %arg2, %[[T]]
// CHECK-NOT: pm.reshard
// CHECK: return
func.func @tied(
    %w: tensor<64x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %x: tensor<512x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<512x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<512x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}, tensor<512x64xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x16xf32>) -> tensor<512x16xf32>
  %1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %2 = stablehlo.dot_general %y, %1, contracting_dims = [1] x [0] : (tensor<512x16xf32>, tensor<16x64xf32>) -> tensor<512x64xf32>
  return %0, %2 : tensor<512x16xf32>, tensor<512x64xf32>
}

// The user's ranking is kept, though it moves more.
// CHECK-LABEL: func.func @ranked
// CHECK: pm.reshard %arg0 from <@mesh, [{}, {"x"}]> to <@mesh, [{"x"}, {}]>
func.func @ranked(
    %p: tensor<8x256xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"x"}p1]>},
    %ids: tensor<8x1x1xi32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}, {}]>},
    %g: tensor<8x1xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>},
    %h: tensor<8x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x16xf32> {pm.sharding = #pm.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x256xf32>
  %s = "stablehlo.scatter"(%zeros, %ids, %g) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x256xf32>, tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x256xf32>
  %sum = stablehlo.add %s, %p : tensor<8x256xf32>
  %dw = stablehlo.dot_general %sum, %h, contracting_dims = [0] x [0] : (tensor<8x256xf32>, tensor<8x16xf32>) -> tensor<256x16xf32>
  return %dw : tensor<256x16xf32>
}
