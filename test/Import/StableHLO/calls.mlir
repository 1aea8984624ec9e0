// Calls and composites are inlined, in regions too.
// RUN: pmopt %s --pm-import-stablehlo | FileCheck %s

// CHECK-LABEL: func.func public @nested(
// CHECK-NEXT: %[[A:.*]] = stablehlo.tanh %arg0
// CHECK-NEXT: %[[B:.*]] = stablehlo.negate %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.tanh %[[B]]
// CHECK-NEXT: return %[[B]], %[[C]]
func.func public @nested(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @outer.of_two(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @tanh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @tanh(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer.of_two(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @tanh(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @in_loop(
// CHECK: do {
// CHECK-NEXT: %[[Y:.*]] = stablehlo.tanh %{{.*}} : tensor<4xf32>
// CHECK-NOT: call
func.func public @in_loop(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = func.call @tanh(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %next : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @composite(
// CHECK-NEXT: %[[A:.*]] = stablehlo.tanh %arg0
// CHECK-NEXT: stablehlo.optimization_barrier %[[A]]
func.func public @composite(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.tanh" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @tanh, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.optimization_barrier %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A function that returns its argument, and one that returns a value twice.
// CHECK-LABEL: func.func public @passed_through(
// CHECK-NEXT: return %arg0, %arg0
func.func public @passed_through(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = call @twice(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @twice(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-NOT: func.func private
