// RUN: not pmopt %s --pm-differentiate="optimizer=sgd" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not pmopt %s --pm-differentiate="decay=none" 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not pmopt %s --pm-differentiate="trainable=layers.*,head" 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not pmopt %s --pm-differentiate="trainable=[w" 2>&1 | FileCheck %s --check-prefix=PATTERN

// OPTIMIZER: error: unknown optimizer 'sgd'; the one there is is adamw
// DECAY: error: unknown decay 'none'; it is all (parameters decay) or matrices (those with two or more dimensions)
// UNUSED: error: {{.*}}trainable pattern 'head' matches no parameter; a parameter is called 'layers.0.w'
// PATTERN: error: {{.*}}trainable pattern '[w': {{.*}}unmatched '['
func.func @main(%w: tensor<f32> {pm.state = #pm.state<parameter, "layers.0.w">}) -> (tensor<f32> {pm.output = "loss"}) {
  return %w : tensor<f32>
}
