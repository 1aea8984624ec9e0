// RUN: pmcheck gradients %s

// Each op with cotangents of its main result, for which it has gradient ops,
// and of its statistics too, for which its decomposition is differentiated.

func.func @embedding(%table: tensor<9x3xf64>) -> tensor<2x5x3xf64> {
  %ids = stablehlo.constant dense<[[0, 8, 3, 3, 3], [1, 0, 7, 8, 2]]> : tensor<2x5xi32>
  %y = pm.embedding %table, %ids : (tensor<9x3xf64>, tensor<2x5xi32>) -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3xf64>
}
func.func @rms_norm(%x: tensor<2x5x7xf64>, %w: tensor<7xf64>) -> tensor<2x5x7xf64> {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-2 : tensor<2x5x7xf64>, tensor<7xf64> -> tensor<2x5xf64>
  return %y : tensor<2x5x7xf64>
}
func.func @rms_norm_of_heads(%x: tensor<2x5x3x4xf64>, %w: tensor<4xf64>) -> tensor<2x5x3x4xf64> {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-2 : tensor<2x5x3x4xf64>, tensor<4xf64> -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3x4xf64>
}
func.func @rms_norm_with_rstd(%x: tensor<2x5x7xf64>, %w: tensor<7xf64>) -> (tensor<2x5x7xf64>, tensor<2x5xf64>) {
  %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-2 : tensor<2x5x7xf64>, tensor<7xf64> -> tensor<2x5xf64>
  return %y, %rstd : tensor<2x5x7xf64>, tensor<2x5xf64>
}
func.func @layer_norm(%x: tensor<2x5x7xf64>, %w: tensor<7xf64>, %b: tensor<7xf64>) -> tensor<2x5x7xf64> {
  %y, %mean, %rstd = pm.layer_norm %x, %w, %b epsilon 1.0e-2 : tensor<2x5x7xf64>, tensor<7xf64> -> tensor<2x5xf64>
  return %y : tensor<2x5x7xf64>
}
func.func @layer_norm_with_mean_and_rstd(%x: tensor<2x5x7xf64>, %w: tensor<7xf64>, %b: tensor<7xf64>) -> (tensor<2x5x7xf64>, tensor<2x5xf64>, tensor<2x5xf64>) {
  %y, %mean, %rstd = pm.layer_norm %x, %w, %b epsilon 1.0e-2 : tensor<2x5x7xf64>, tensor<7xf64> -> tensor<2x5xf64>
  return %y, %mean, %rstd : tensor<2x5x7xf64>, tensor<2x5xf64>, tensor<2x5xf64>
}
func.func @rope(%x: tensor<2x5x3x6xf64>, %cos: tensor<5x3xf64>, %sin: tensor<5x3xf64>) -> (tensor<2x5x3x6xf64>, tensor<2x5x3x6xf64>) {
  %y = pm.rope %x, %cos, %sin : tensor<2x5x3x6xf64>, tensor<5x3xf64>
  %z = pm.rope %x, %cos, %sin inverse : tensor<2x5x3x6xf64>, tensor<5x3xf64>
  return %y, %z : tensor<2x5x3x6xf64>, tensor<2x5x3x6xf64>
}
func.func @attention(%q: tensor<2x5x6x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x4xf64>) -> tensor<2x5x6x4xf64> {
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal : tensor<2x5x6x4xf64>, tensor<2x5x2x4xf64> -> tensor<2x6x5xf64>
  return %o : tensor<2x5x6x4xf64>
}
func.func @attention_of_all_keys(%q: tensor<2x5x3x4xf64>, %k: tensor<2x5x3x4xf64>, %v: tensor<2x5x3x4xf64>) -> tensor<2x5x3x4xf64> {
  %o, %lse = pm.attention %q, %k, %v scale 0.3 : tensor<2x5x3x4xf64>, tensor<2x5x3x4xf64> -> tensor<2x3x5xf64>
  return %o : tensor<2x5x3x4xf64>
}
func.func @attention_in_a_window_with_lse(%q: tensor<2x5x6x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x4xf64>) -> (tensor<2x5x6x4xf64>, tensor<2x6x5xf64>) {
  %o, %lse = pm.attention %q, %k, %v scale 0.5 causal window 3 : tensor<2x5x6x4xf64>, tensor<2x5x2x4xf64> -> tensor<2x6x5xf64>
  return %o, %lse : tensor<2x5x6x4xf64>, tensor<2x6x5xf64>
}
func.func @attention_to_itself(%x: tensor<1x5x3x4xf64>) -> (tensor<1x5x3x4xf64>, tensor<1x3x5xf64>, tensor<1x5x3x4xf64>) {
  %o, %lse = pm.attention %x, %x, %x scale 0.5 causal : tensor<1x5x3x4xf64>, tensor<1x5x3x4xf64> -> tensor<1x3x5xf64>
  %p, %m = pm.attention %x, %x, %x scale 0.5 causal window 2 : tensor<1x5x3x4xf64>, tensor<1x5x3x4xf64> -> tensor<1x3x5xf64>
  return %o, %lse, %p : tensor<1x5x3x4xf64>, tensor<1x3x5xf64>, tensor<1x5x3x4xf64>
}
func.func @cross_entropy(%logits: tensor<2x5x7xf64>) -> tensor<2x5xf64> {
  %targets = stablehlo.constant dense<[[0, 6, -100, 3, 3], [-100, -100, 2, 1, 5]]> : tensor<2x5xi32>
  %nll, %lse = pm.cross_entropy %logits, %targets : tensor<2x5x7xf64>, tensor<2x5xi32> -> tensor<2x5xf64>
  return %nll : tensor<2x5xf64>
}
func.func @cross_entropy_with_lse(%logits: tensor<2x5x7xf64>) -> (tensor<2x5xf64>, tensor<2x5xf64>) {
  %targets = stablehlo.constant dense<[[0, 6, -100, 3, 3], [-100, -100, 2, 1, 5]]> : tensor<2x5xi32>
  %nll, %lse = pm.cross_entropy %logits, %targets : tensor<2x5x7xf64>, tensor<2x5xi32> -> tensor<2x5xf64>
  return %nll, %lse : tensor<2x5xf64>, tensor<2x5xf64>
}
func.func @second_derivative_of_a_norm(%x: tensor<3x5xf64>, %w: tensor<5xf64>, %rstd: tensor<3xf64>, %dy: tensor<3x5xf64>) -> (tensor<3x5xf64>, tensor<5xf64>) {
  %dx = pm.rms_norm_input_grad %x, %w, %rstd, %dy : tensor<3x5xf64>, tensor<5xf64>, tensor<3xf64>
  %dw = pm.rms_norm_weight_grad %x, %rstd, %dy : tensor<3x5xf64>, tensor<3xf64> -> tensor<5xf64>
  return %dx, %dw : tensor<3x5xf64>, tensor<5xf64>
}
