// RUN: pmopt %s --pm-differentiate-function | FileCheck %s

// CHECK-LABEL: func.func @embedding_grad(
// CHECK-SAME:    %{{.*}}: tensor<9x4xf32>, %[[IDS:[a-z0-9]+]]: tensor<2x5xi32>, %[[DY:[a-z0-9]+]]: tensor<2x5x4xf32>) -> tensor<9x4xf32>
// CHECK-NEXT:    pm.embedding_grad %[[IDS]], %[[DY]]
func.func @embedding(%table: tensor<9x4xf32>, %ids: tensor<2x5xi32>) -> tensor<2x5x4xf32> {
  %y = pm.embedding %table, %ids : (tensor<9x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// CHECK-LABEL: func.func @embedding_with_padding_grad(
// CHECK-SAME:    %{{.*}}: tensor<9x4xf32>, %[[IDS:[a-z0-9]+]]: tensor<2x5xi32>, %[[DY:[a-z0-9]+]]: tensor<2x5x4xf32>)
// CHECK:         %[[PADDING:.*]] = stablehlo.constant dense<3> : tensor<2x5xi32>
// CHECK:         %[[IS:.*]] = stablehlo.compare {{ *}}EQ, %[[IDS]], %[[PADDING]]
// CHECK:         %[[MASK:.*]] = stablehlo.broadcast_in_dim %[[IS]], dims = [0, 1]
// CHECK:         %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x5x4xf32>
// CHECK:         %[[MASKED:.*]] = stablehlo.select %[[MASK]], %[[ZERO]], %[[DY]]
// CHECK-NEXT:    pm.embedding_grad %[[IDS]], %[[MASKED]]
func.func @embedding_with_padding(%table: tensor<9x4xf32>, %ids: tensor<2x5xi32>) -> tensor<2x5x4xf32> {
  %y = pm.embedding %table, %ids padding 3 : (tensor<9x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// CHECK-LABEL: func.func @rms_norm_grad(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x5x4xf32>, %[[W:[a-z0-9]+]]: tensor<4xf32>, %[[DY:[a-z0-9]+]]: tensor<2x5x4xf32>)
// CHECK-NEXT:    %{{.*}}, %[[RSTD:.*]] = pm.rms_norm
// CHECK-NEXT:    %[[DX:.*]] = pm.rms_norm_input_grad %[[X]], %[[W]], %[[RSTD]], %[[DY]]
// CHECK-NEXT:    %[[DW:.*]] = pm.rms_norm_weight_grad %[[X]], %[[RSTD]], %[[DY]]
// CHECK-NEXT:    return %[[DX]], %[[DW]]
func.func @rms_norm(%x: tensor<2x5x4xf32>, %w: tensor<4xf32>) -> tensor<2x5x4xf32> {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x5x4xf32>, tensor<4xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5x4xf32>
}

// A cotangent of rstd is not what the gradient ops know.
// CHECK-LABEL: func.func @rms_norm_with_a_cotangent_of_rstd_grad(
// CHECK-NOT:     pm.
// CHECK:         stablehlo.rsqrt
// CHECK-NOT:     pm.
// CHECK:         return
func.func @rms_norm_with_a_cotangent_of_rstd(%x: tensor<2x5x4xf32>, %w: tensor<4xf32>) -> (tensor<2x5x4xf32>, tensor<2x5xf32>) {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x5x4xf32>, tensor<4xf32> -> tensor<2x5xf32>
  return %y, %rstd : tensor<2x5x4xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: func.func @layer_norm_grad(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x5x4xf32>, %[[W:[a-z0-9]+]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[DY:[a-z0-9]+]]: tensor<2x5x4xf32>)
// CHECK-NEXT:    %{{.*}}, %[[MEAN:.*]], %[[RSTD:.*]] = pm.layer_norm
// CHECK-DAG:     %[[DX:.*]] = pm.layer_norm_input_grad %[[X]], %[[W]], %[[MEAN]], %[[RSTD]], %[[DY]]
// CHECK-DAG:     %[[DW:.*]] = pm.layer_norm_weight_grad %[[X]], %[[MEAN]], %[[RSTD]], %[[DY]]
// CHECK-DAG:     %[[DB:.*]] = stablehlo.reduce(%[[DY]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK:         return %[[DX]], %[[DW]], %[[DB]]
func.func @layer_norm(%x: tensor<2x5x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x5x4xf32> {
  %y, %mean, %rstd = pm.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<2x5x4xf32>, tensor<4xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5x4xf32>
}

// CHECK-LABEL: func.func @rope_grad(
// CHECK:         pm.rope %{{.*}}, %[[COS:.*]], %[[SIN:.*]] inverse :
func.func @rope(%x: tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32> {
  %cos = stablehlo.constant dense<0.5> : tensor<5x2xf32>
  %sin = stablehlo.constant dense<0.25> : tensor<5x2xf32>
  %y = pm.rope %x, %cos, %sin : tensor<2x5x3x4xf32>, tensor<5x2xf32>
  return %y : tensor<2x5x3x4xf32>
}

// CHECK-LABEL: func.func @inverse_rope_grad(
// CHECK:         pm.rope %{{.*}}, %{{.*}}, %{{.*}} :
func.func @inverse_rope(%x: tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32> {
  %cos = stablehlo.constant dense<0.5> : tensor<5x2xf32>
  %sin = stablehlo.constant dense<0.25> : tensor<5x2xf32>
  %y = pm.rope %x, %cos, %sin inverse : tensor<2x5x3x4xf32>, tensor<5x2xf32>
  return %y : tensor<2x5x3x4xf32>
}

// The three cotangents come from one op.
// CHECK-LABEL: func.func @attention_grad(
// CHECK:         %[[O:.*]], %[[LSE:.*]] = pm.attention
// CHECK-NEXT:    %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = pm.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[LSE]], %{{.*}} scale 5.000000e-01 causal window 3
// CHECK-NEXT:    return %[[DQ]], %[[DK]], %[[DV]]
func.func @attention(%q: tensor<2x5x4x4xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x2x4xf32>) -> tensor<2x5x4x4xf32> {
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal window 3 : tensor<2x5x4x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x4x5xf32>
  return %o : tensor<2x5x4x4xf32>
}

// CHECK-LABEL: func.func @attention_with_a_cotangent_of_lse_grad(
// CHECK-NOT:     pm.
// CHECK:         return
func.func @attention_with_a_cotangent_of_lse(%q: tensor<2x5x4x4xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x2x4xf32>) -> (tensor<2x5x4x4xf32>, tensor<2x4x5xf32>) {
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<2x5x4x4xf32>, tensor<2x5x2x4xf32> -> tensor<2x4x5xf32>
  return %o, %lse : tensor<2x5x4x4xf32>, tensor<2x4x5xf32>
}

// CHECK-LABEL: func.func @cross_entropy_grad(
// CHECK:         %{{.*}}, %[[LSE:.*]] = pm.cross_entropy
// CHECK-NEXT:    pm.cross_entropy_grad %{{.*}}, %{{.*}}, %[[LSE]], %{{.*}}
func.func @cross_entropy(%logits: tensor<2x5x9xf32>, %targets: tensor<2x5xi32>) -> tensor<2x5xf32> {
  %nll, %lse = pm.cross_entropy %logits, %targets : tensor<2x5x9xf32>, tensor<2x5xi32> -> tensor<2x5xf32>
  return %nll : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @constraint_holds_for_the_cotangent_grad(
// CHECK:         pm.constrain %{{.*}} to <@mesh, [{"dp"}, {}]>
func.func @constraint_holds_for_the_cotangent(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = pm.constrain %x to <@mesh, [{"dp"}, {}]> : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// A gradient op has a decomposition, and through it a gradient of its own.
// CHECK-LABEL: func.func @second_derivative_grad(
// CHECK-NOT:     pm.
// CHECK:         return
func.func @second_derivative(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %rstd: tensor<2xf32>, %dy: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>
  return %dx : tensor<2x4xf32>
}
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 1>]
