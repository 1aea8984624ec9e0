// RUN: pmopt %s --pm-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// A backward op is where its forward op is, an update where its parameter is.

// CHECK:      stablehlo.exponential %{{.*}} {pm.phase = "forward"} : tensor<3xf32> loc("model.layers.3.mlp")
// CHECK:      stablehlo.broadcast_in_dim {{.*}}"backward"{{.*}} loc("loss")
// CHECK:      stablehlo.multiply {{.*}}"backward"{{.*}} loc("model.layers.3.mlp")
// CHECK:      stablehlo.sqrt {{.*}} loc("grad_norm")
// CHECK:      pm.adamw {{.*}} loc("layers.3.w")
func.func @main(%w: tensor<3xf32> {pm.state = #pm.state<parameter, "layers.3.w">}, %scale: tensor<f32>) -> (tensor<f32> {pm.output = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %w : tensor<3xf32> loc("model.layers.3.mlp")
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32> loc("loss")
  %loss = stablehlo.multiply %sum, %scale : tensor<f32> loc("loss")
  return %loss : tensor<f32>
}
