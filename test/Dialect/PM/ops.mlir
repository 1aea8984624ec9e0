// RUN: pmopt %s | pmopt | FileCheck %s
// RUN: pmopt %s --mlir-print-op-generic | pmopt | FileCheck %s

// CHECK: pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 4>]
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 4>]

// CHECK: pm.program @step on @mesh {
// CHECK:   pm.buffer @input_ids input : tensor<8x20xi32> sharding <@mesh, [{"dp", "mb"}, {}]>
// CHECK:   pm.buffer @grad accumulator : tensor<32x64xf32> sharding <@mesh, [{}, {}], partial = sum{"dp", "mb"}> {parameter = "model.w", role = "gradient"}
// CHECK:   pm.role 0 {
// CHECK:     pm.action forward stage 0 micro_batch 1
pm.program @step on @mesh {
  pm.buffer @input_ids input : tensor<8x20xi32> sharding <@mesh, [{"dp", "mb"}, {}]>
  pm.buffer @grad accumulator : tensor<32x64xf32> sharding <@mesh, [{}, {}], partial = sum{"dp", "mb"}> {role = "gradient", parameter = "model.w"}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 1
  }
}

// CHECK-LABEL: func.func @shardings
// CHECK-SAME: pm.sharding = #pm.sharding<@mesh, [{"dp", ?}p1, {}b3, {?}]>
// CHECK: pm.constrain %{{.*}} to <@mesh, [{"dp"}, {}, {}]> : tensor<8x4x2xf32>
// CHECK: pm.reshard %{{.*}} from <@mesh, [{"dp"}, {}, {}]> to <@mesh, [{}, {}, {}], partial = max{"mb"}> : tensor<8x4x2xf32>
// CHECK: pm.all_reduce sum(%{{.*}}, %{{.*}}) over ["dp"] on @mesh : tensor<8x4x2xf32>, tensor<8x4x2xf32>
// CHECK: pm.axis_index "dp" on @mesh : tensor<i32>
func.func @shardings(%x: tensor<8x4x2xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp", ?}p1, {}b3, {?}]>})
    -> (tensor<8x4x2xf32> {pm.output = "y"}, tensor<i32>) {
  %0 = pm.constrain %x to <@mesh, [{"dp"}, {}, {}]> : tensor<8x4x2xf32>
  %1 = pm.reshard %0 from <@mesh, [{"dp"}, {}, {}]> to <@mesh, [{}, {}, {}], partial = max{"mb"}> : tensor<8x4x2xf32>
  %2:2 = pm.all_reduce sum(%1, %0) over ["dp"] on @mesh : tensor<8x4x2xf32>, tensor<8x4x2xf32>
  %i = pm.axis_index "dp" on @mesh : tensor<i32>
  return %2#0, %i : tensor<8x4x2xf32>, tensor<i32>
}

// CHECK-LABEL: func.func @state
// CHECK-SAME: pm.state = #pm.state<parameter, "model.w", storage = <@mesh, [{"dp"}, {}]>>
func.func @state(%w: tensor<2x3xf32> {pm.state = #pm.state<parameter, "model.w", storage = <@mesh, [{"dp"}, {}]>>})
    -> (tensor<2x3xf32> {pm.state = #pm.state<parameter, "model.w">}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  return %w : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @model_ops
func.func @model_ops(%table: tensor<16x8xf32>, %ids: tensor<2x5xi32>, %w: tensor<8xf32>, %cos: tensor<5x2xf32>,
                     %t: tensor<f32>) {
  // CHECK: pm.embedding
  %x = pm.embedding %table, %ids : (tensor<16x8xf32>, tensor<2x5xi32>) -> tensor<2x5x8xf32>
  // CHECK: pm.embedding %{{.*}}, %{{.*}} padding 3 :
  %padded = pm.embedding %table, %ids padding 3 : (tensor<16x8xf32>, tensor<2x5xi32>) -> tensor<2x5x8xf32>
  // CHECK: pm.embedding_grad
  %dt = pm.embedding_grad %ids, %x : (tensor<2x5xi32>, tensor<2x5x8xf32>) -> tensor<16x8xf32>
  // CHECK: pm.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<2x5x8xf32>, tensor<8xf32> -> tensor<2x5xf32>
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x5x8xf32>, tensor<8xf32> -> tensor<2x5xf32>
  // CHECK: pm.rms_norm_input_grad
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %y : tensor<2x5x8xf32>, tensor<8xf32>, tensor<2x5xf32>
  // CHECK: pm.rms_norm_weight_grad
  %dw = pm.rms_norm_weight_grad %x, %rstd, %y : tensor<2x5x8xf32>, tensor<2x5xf32> -> tensor<8xf32>
  // CHECK: pm.layer_norm
  %z, %mean, %rstd2 = pm.layer_norm %x, %w, %w epsilon 1.0e-5 : tensor<2x5x8xf32>, tensor<8xf32> -> tensor<2x5xf32>
  // CHECK: pm.layer_norm_input_grad
  %dz = pm.layer_norm_input_grad %x, %w, %mean, %rstd2, %y : tensor<2x5x8xf32>, tensor<8xf32>, tensor<2x5xf32>
  // CHECK: pm.layer_norm_weight_grad
  %dzw = pm.layer_norm_weight_grad %x, %mean, %rstd2, %y : tensor<2x5x8xf32>, tensor<2x5xf32> -> tensor<8xf32>
  %q = stablehlo.reshape %x : (tensor<2x5x8xf32>) -> tensor<2x5x2x4xf32>
  // CHECK: pm.rope %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x5x2x4xf32>, tensor<5x2xf32>
  // CHECK: pm.rope %{{.*}}, %{{.*}}, %{{.*}} inverse : tensor<2x5x2x4xf32>, tensor<5x2xf32>
  %r = pm.rope %q, %cos, %cos : tensor<2x5x2x4xf32>, tensor<5x2xf32>
  %ri = pm.rope %r, %cos, %cos inverse : tensor<2x5x2x4xf32>, tensor<5x2xf32>
  // CHECK: pm.attention %{{.*}} scale 5.000000e-01 causal window 3 : tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x2x5xf32>
  // CHECK: pm.attention %{{.*}} scale 5.000000e-01 : tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x2x5xf32>
  %o, %lse = pm.attention %q, %r, %q scale 0.5 causal window 3 : tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x2x5xf32>
  %o2, %lse2 = pm.attention %q, %r, %q scale 0.5 : tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x2x5xf32>
  // CHECK: pm.attention_grad
  %dq, %dk, %dv = pm.attention_grad %q, %r, %q, %o, %lse, %q scale 0.5 causal window 3 : tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x2x5xf32>
  // CHECK: pm.cross_entropy
  %nll, %l = pm.cross_entropy %x, %ids : tensor<2x5x8xf32>, tensor<2x5xi32> -> tensor<2x5xf32>
  // CHECK: pm.cross_entropy_grad
  %dl = pm.cross_entropy_grad %x, %ids, %l, %nll : tensor<2x5x8xf32>, tensor<2x5xi32>, tensor<2x5xf32>
  // CHECK: pm.adamw %{{.*}} scalars %{{.*}} decay : tensor<16x8xf32>, tensor<f32>
  %p, %m, %v = pm.adamw %table, %dt, %dt, %dt scalars %t, %t, %t, %t, %t, %t, %t decay : tensor<16x8xf32>, tensor<f32>
  return
}
