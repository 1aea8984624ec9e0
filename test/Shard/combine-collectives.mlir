// RUN: pmopt %s --pm-combine-collectives=bucket-bytes=64 | FileCheck %s

pm.mesh @mesh = [<"dp", spatial = 2>, <"tp", spatial = 2>]

// CHECK-LABEL: func.func @independent_ones_merge
func.func @independent_ones_merge(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  // CHECK: %[[R:.*]]:2 = pm.all_reduce sum(%arg0, %arg1) over ["dp"] on @mesh : tensor<4xf32>, tensor<8xf32>
  // CHECK: %[[N:.*]] = stablehlo.negate %[[R]]#0
  // CHECK: return %[[N]], %[[R]]#1
  %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4xf32>
  %n = stablehlo.negate %a : tensor<4xf32>
  %b = pm.all_reduce sum(%y) over ["dp"] on @mesh : tensor<8xf32>
  return %n, %b : tensor<4xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @dependent_ones_stay
func.func @dependent_ones_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: pm.all_reduce sum(%{{[a-z0-9]+}}) over
  %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4xf32>
  %n = stablehlo.negate %a : tensor<4xf32>
  %b = pm.all_reduce sum(%n) over ["dp"] on @mesh : tensor<4xf32>
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func.func @buckets_are_bounded
func.func @buckets_are_bounded(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %w: tensor<32xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32xf32>) {
  // CHECK: pm.all_reduce sum(%arg0, %arg1)
  // CHECK: pm.all_reduce sum(%arg2)
  // CHECK: pm.all_reduce sum(%arg3)
  %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<8xf32>
  %b = pm.all_reduce sum(%y) over ["dp"] on @mesh : tensor<8xf32>
  %c = pm.all_reduce sum(%z) over ["dp"] on @mesh : tensor<8xf32>
  %d = pm.all_reduce sum(%w) over ["dp"] on @mesh : tensor<32xf32>
  return %a, %b, %c, %d : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32xf32>
}

// Other axes, kinds and element types do not mix, and their order stays.
// CHECK-LABEL: func.func @only_equal_ones_merge
func.func @only_equal_ones_merge(%x: tensor<4xf32>, %y: tensor<4xi32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  // CHECK: pm.all_reduce sum(%arg0) over ["tp"]
  // CHECK: pm.all_reduce max(%arg0) over ["dp"]
  // CHECK: pm.all_reduce sum(%arg1) over ["dp"] on @mesh : tensor<4xi32>
  // CHECK: pm.all_reduce sum(%arg0, %arg2) over ["dp"]
  %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4xf32>
  %b = pm.all_reduce sum(%x) over ["tp"] on @mesh : tensor<4xf32>
  %c = pm.all_reduce max(%x) over ["dp"] on @mesh : tensor<4xf32>
  %d = pm.all_reduce sum(%y) over ["dp"] on @mesh : tensor<4xi32>
  %e = pm.all_reduce sum(%z) over ["dp"] on @mesh : tensor<4xf32>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// The squares of cut gradients: their sum goes behind the one exchange.
// CHECK-LABEL: func.func @numbers_of_a_chain
func.func @numbers_of_a_chain(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[R:.*]]:3 = pm.all_reduce sum(%arg0, %arg1, %arg2) over ["tp"]
  // CHECK: %[[A:.*]] = stablehlo.add %[[R]]#0, %arg3
  // CHECK: %[[B:.*]] = stablehlo.add %[[A]], %[[R]]#1
  // CHECK: stablehlo.add %[[B]], %[[R]]#2
  %a = pm.all_reduce sum(%x) over ["tp"] on @mesh : tensor<f32>
  %0 = stablehlo.add %a, %w : tensor<f32>
  %b = pm.all_reduce sum(%y) over ["tp"] on @mesh : tensor<f32>
  %1 = stablehlo.add %0, %b : tensor<f32>
  %c = pm.all_reduce sum(%z) over ["tp"] on @mesh : tensor<f32>
  %2 = stablehlo.add %1, %c : tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @equal_ones_are_one
func.func @equal_ones_are_one(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[A:.*]] = pm.all_gather %arg0 dim 0 over ["dp"]
  // CHECK-NEXT: %[[B:.*]] = pm.all_gather %arg0 dim 0 over ["tp"]
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %a = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  %b = pm.all_gather %x dim 0 over ["dp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  %c = pm.all_gather %x dim 0 over ["tp"] on @mesh : (tensor<4xf32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @inside_of_a_region
func.func @inside_of_a_region(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.if
  // CHECK-NEXT: pm.all_reduce sum(%arg1, %arg2)
  %0 = "stablehlo.if"(%p) ({
    %a = pm.all_reduce sum(%x) over ["dp"] on @mesh : tensor<4xf32>
    %b = pm.all_reduce sum(%y) over ["dp"] on @mesh : tensor<4xf32>
    %c = stablehlo.add %a, %b : tensor<4xf32>
    stablehlo.return %c : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
