// RUN: pmopt %s --split-input-file --pm-kernel-pipeline --pm-runtime-pipeline | FileCheck %s

// A loop that counts to four: what it does not change is not carried; the
// counter and the value each have one place, in which they are computed; the
// result lies in its buffer from the first iteration on.
pm.mesh @mesh = [<"dp", spatial = 2>]
pm.program @step on @mesh {
  pm.buffer @arg0 input : tensor<4x8xf32> sharding <@mesh, [{"dp"}, {}]> {role = "argument"}
  pm.buffer @arg1 input : tensor<8xf32> sharding <@mesh, [{}]> {role = "argument"}
  pm.buffer @out0 output : tensor<4x8xf32> sharding <@mesh, [{"dp"}, {}]> {role = "result"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}

// CHECK-LABEL: pmrt.role @role_0
// CHECK: pmrt.body @stage0_forward
func.func @stage0_forward(%x: tensor<4x8xf32> {pm.buffer = @arg0}, %w: tensor<8xf32> {pm.buffer = @arg1})
    -> (tensor<4x8xf32> {pm.buffer = @out0}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %y = %x, %v = %w) : tensor<i32>, tensor<4x8xf32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %p = stablehlo.multiply %y, %b : tensor<4x8xf32>
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%p init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %t = pm.all_reduce sum(%s) over ["dp"] on @mesh : tensor<f32>
    %tb = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %z = stablehlo.add %y, %tb : tensor<4x8xf32>
    stablehlo.return %next, %z, %v : tensor<i32>, tensor<4x8xf32>, tensor<8xf32>
  }
  return %r#1 : tensor<4x8xf32>
}

// -----

// Two values that change places go over a third.
pm.mesh @mesh = [<"dp", spatial = 1>]
pm.program @step on @mesh {
  pm.buffer @arg0 input : tensor<8xf32> sharding <@mesh, [{}]> {role = "argument"}
  pm.buffer @arg1 input : tensor<8xf32> sharding <@mesh, [{}]> {role = "argument"}
  pm.buffer @arg2 input : tensor<i32> sharding <@mesh, []> {role = "argument"}
  pm.buffer @out0 output : tensor<8xf32> sharding <@mesh, [{}]> {role = "result"}
  pm.buffer @out1 output : tensor<8xf32> sharding <@mesh, [{}]> {role = "result"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}

// CHECK-LABEL: pmrt.role @role_0
func.func @stage0_forward(%a: tensor<8xf32> {pm.buffer = @arg0}, %b: tensor<8xf32> {pm.buffer = @arg1}, %n: tensor<i32> {pm.buffer = @arg2})
    -> (tensor<8xf32> {pm.buffer = @out0}, tensor<8xf32> {pm.buffer = @out1}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %y, %x : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %r#1, %r#2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// The branch of a choice computes in the place of the result.
pm.mesh @mesh = [<"dp", spatial = 1>]
pm.program @step on @mesh {
  pm.buffer @arg0 input : tensor<8xf32> sharding <@mesh, [{}]> {role = "argument"}
  pm.buffer @arg1 input : tensor<i32> sharding <@mesh, []> {role = "argument"}
  pm.buffer @arg2 input : tensor<i1> sharding <@mesh, []> {role = "argument"}
  pm.buffer @out0 output : tensor<8xf32> sharding <@mesh, [{}]> {role = "result"}
  pm.buffer @out1 output : tensor<8xf32> sharding <@mesh, [{}]> {role = "result"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}

// CHECK-LABEL: pmrt.role @role_0
func.func @stage0_forward(%a: tensor<8xf32> {pm.buffer = @arg0}, %i: tensor<i32> {pm.buffer = @arg1}, %p: tensor<i1> {pm.buffer = @arg2})
    -> (tensor<8xf32> {pm.buffer = @out0}, tensor<8xf32> {pm.buffer = @out1}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.negate %a : tensor<8xf32>
    stablehlo.return %0 : tensor<8xf32>
  }, {
    stablehlo.return %a : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %s = "stablehlo.if"(%p) ({
    %0 = stablehlo.tanh %a : tensor<8xf32>
    stablehlo.return %0 : tensor<8xf32>
  }, {
    %0 = stablehlo.sine %a : tensor<8xf32>
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}
