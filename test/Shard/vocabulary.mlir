// Lookup and loss where the vocabulary is cut.
// RUN: pmopt %s --pm-partition --split-input-file | FileCheck %s

pm.mesh @mesh = [<"tp", spatial = 2>]

// CHECK-LABEL: func.func @lookup
func.func @lookup(
    %table: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>, pm.state = #pm.state<parameter, "w">},
    %ids: tensor<3xi32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[TP:.*]] = pm.axis_index "tp" on @mesh
  // CHECK: %[[OFFSET:.*]] = stablehlo.multiply %[[TP]]
  // CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[OFFSET]]
  // CHECK: %[[PLACES:.*]] = stablehlo.subtract %arg1, %[[SPREAD]]
  // CHECK: %[[LOW:.*]] = stablehlo.maximum %[[PLACES]]
  // CHECK: %[[CLAMPED:.*]] = stablehlo.minimum %[[LOW]]
  // CHECK: %[[OWN:.*]] = stablehlo.compare EQ, %[[PLACES]], %[[CLAMPED]]
  // CHECK: %[[ROWS:.*]] = pm.embedding %arg0, %[[CLAMPED]] : (tensor<4x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  // CHECK: %[[P:.*]] = stablehlo.broadcast_in_dim %[[OWN]]
  // CHECK: %[[PART:.*]] = stablehlo.select %[[P]], %[[ROWS]]
  // CHECK: pm.all_reduce sum(%[[PART]]) over ["tp"]
  %0 = pm.embedding %table, %ids {pm.shardings = [#pm.sharding<@mesh, [{}, {}], partial = sum{"tp"}>]} : (tensor<8x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  %1 = pm.reshard %0 from <@mesh, [{}, {}], partial = sum{"tp"}> to <@mesh, [{}, {}]> {pm.shardings = [#pm.sharding<@mesh, [{}, {}]>]} : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @gradient_of_the_table
func.func @gradient_of_the_table(
    %ids: tensor<3xi32> {pm.sharding = #pm.sharding<@mesh, [{}]>},
    %dy: tensor<3x4xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {}]>}) -> (tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"tp"}, {}]>}) {
  // CHECK: %[[PLACES:.*]] = stablehlo.subtract %arg0
  // CHECK: pm.embedding_grad %[[PLACES]], %arg1 : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  %0 = pm.embedding_grad %ids, %dy {pm.shardings = [#pm.sharding<@mesh, [{"tp"}, {}]>]} : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// One exchange of each row's maximum, one of two sums.
// CHECK-LABEL: func.func @loss
func.func @loss(
    %logits: tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>},
    %targets: tensor<3xi32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<3xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}, tensor<3xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) {
  // CHECK-NOT: stablehlo.select
  // CHECK: %[[OWN:.*]] = stablehlo.reduce(%arg0 {{.*}}maximum
  // CHECK: %[[MAX:.*]] = pm.all_reduce max(%[[OWN]]) over ["tp"]
  // CHECK: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %[[MAX]]
  // CHECK: %[[SHIFTED:.*]] = stablehlo.subtract %arg0, %[[WIDE]]
  // CHECK: %[[EXP:.*]] = stablehlo.exponential %[[SHIFTED]]
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[EXP]]
  // CHECK: %[[PICKED:.*]] = stablehlo.select %{{.*}}, %[[SHIFTED]]
  // CHECK: %[[TARGET:.*]] = stablehlo.reduce(%[[PICKED]]
  // CHECK: %[[R:.*]]:2 = pm.all_reduce sum(%[[SUM]], %[[TARGET]]) over ["tp"]
  // CHECK: %[[LOG:.*]] = stablehlo.log %[[R]]#0
  // CHECK: stablehlo.subtract %[[LOG]], %[[R]]#1
  // CHECK: stablehlo.add %[[LOG]], %[[MAX]]
  %nll, %lse = pm.cross_entropy %logits, %targets {pm.shardings = [#pm.sharding<@mesh, [{}]>, #pm.sharding<@mesh, [{}]>]} : tensor<3x8xf32>, tensor<3xi32> -> tensor<3xf32>
  return %nll, %lse : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @gradient_of_the_loss
func.func @gradient_of_the_loss(
    %logits: tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>},
    %targets: tensor<3xi32> {pm.sharding = #pm.sharding<@mesh, [{}]>},
    %lse: tensor<3xf32> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>}) {
  // CHECK: %[[PLACES:.*]] = stablehlo.subtract %arg1
  // CHECK: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %[[PLACES]]
  // CHECK: stablehlo.compare EQ, %{{.*}}, %[[WIDE]]
  // CHECK-NOT: pm.all_reduce
  %0 = pm.cross_entropy_grad %logits, %targets, %lse, %lse {pm.shardings = [#pm.sharding<@mesh, [{}, {"tp"}]>]} : tensor<3x8xf32>, tensor<3xi32>, tensor<3xf32>
  return %0 : tensor<3x8xf32>
}

// -----

pm.mesh @mesh = [<"tp", spatial = 3>]

// Columns of the padding have no probability, and no gradient.
// CHECK-LABEL: func.func @short_blocks
func.func @short_blocks(
    %logits: tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>},
    %targets: tensor<3xi64> {pm.sharding = #pm.sharding<@mesh, [{}]>}) -> (tensor<3x8xf32> {pm.sharding = #pm.sharding<@mesh, [{}, {"tp"}]>}) {
  // CHECK: %[[OWN:.*]] = stablehlo.compare LT
  // CHECK: %[[LOW:.*]] = stablehlo.constant dense<0xFF800000> : tensor<3x3xf32>
  // CHECK: %[[KEPT:.*]] = stablehlo.select %[[OWN]], %arg0, %[[LOW]]
  // CHECK: stablehlo.reduce(%[[KEPT]] {{.*}}maximum
  // CHECK: %[[EXP:.*]] = stablehlo.exponential
  // CHECK: %[[BEYOND:.*]] = stablehlo.compare GE
  // CHECK: %[[KEPT:.*]] = stablehlo.select %[[BEYOND]], %{{.*}}, %[[EXP]]
  // CHECK: stablehlo.reduce(%[[KEPT]]
  %nll, %lse = pm.cross_entropy %logits, %targets {pm.shardings = [#pm.sharding<@mesh, [{}]>, #pm.sharding<@mesh, [{}]>]} : tensor<3x8xf32>, tensor<3xi64> -> tensor<3xf32>
  // CHECK: stablehlo.exponential
  // CHECK: %[[OWN:.*]] = stablehlo.compare LT
  // CHECK: %[[KEPT:.*]] = stablehlo.select %[[OWN]]
  // CHECK: return %[[KEPT]]
  %0 = pm.cross_entropy_grad %logits, %targets, %lse, %nll {pm.shardings = [#pm.sharding<@mesh, [{}, {"tp"}]>]} : tensor<3x8xf32>, tensor<3xi64>, tensor<3xf32>
  return %0 : tensor<3x8xf32>
}
