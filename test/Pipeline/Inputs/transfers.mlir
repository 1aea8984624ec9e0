// Two stages of a step with a tied parameter: an activation, its gradient, a part
// of a sum over micro-batches, the sum, and a value of the prologue cross over.
pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
func.func @stage0_prologue(%w: tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<f32> {pm.buffer = @value, pm.sharding = #pm.sharding<@mesh, []>}) attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  %0 = stablehlo.exponential %w : tensor<f32>
  return %0 : tensor<f32>
}
func.func @stage0_forward(%x: tensor<2xf32> {pm.buffer = @x, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}, %e: tensor<f32> {pm.buffer = @value, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<2xf32> {pm.buffer = @h, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %b = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %0 = stablehlo.multiply %x, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @stage0_backward(%dh: tensor<2xf32> {pm.buffer = @dh, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>})
    -> (tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"mb"}>}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%dh init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @stage0_reduce(%p: tensor<f32> {pm.buffer = @part, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"mb"}>}, %g: tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"mb"}>})
    -> (tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, []>}) attributes {pm.fragment = #pm.fragment<reduce, 0>} {
  %0 = stablehlo.add %p, %g : tensor<f32>
  return %0 : tensor<f32>
}
func.func @stage0_update(%w: tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>}, %g: tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>}) attributes {pm.fragment = #pm.fragment<update, 0>} {
  %0 = stablehlo.subtract %w, %g : tensor<f32>
  return %0 : tensor<f32>
}
func.func @stage1_forward(%h: tensor<2xf32> {pm.buffer = @h, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}, %e: tensor<f32> {pm.buffer = @value, pm.sharding = #pm.sharding<@mesh, []>}, %w: tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<2xf32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<forward, 1>} {
  %0 = stablehlo.multiply %w, %e : tensor<f32>
  %b = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.multiply %h, %b : tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @stage1_backward(%h: tensor<2xf32> {pm.buffer = @h, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}, %y: tensor<2xf32> {pm.buffer = @y, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>})
    -> (tensor<f32> {pm.buffer = @part, pm.sharding = #pm.sharding<@mesh, [], partial = sum{"mb"}>}, tensor<2xf32> {pm.buffer = @dh, pm.sharding = #pm.sharding<@mesh, [{"mb"}]>}) attributes {pm.fragment = #pm.fragment<backward, 1>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0, %y : tensor<f32>, tensor<2xf32>
}
func.func @stage1_update(%w: tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>}, %g: tensor<f32> {pm.buffer = @w.gradient, pm.sharding = #pm.sharding<@mesh, []>})
    -> (tensor<f32> {pm.buffer = @w, pm.sharding = #pm.sharding<@mesh, []>}) attributes {pm.fragment = #pm.fragment<update, 1>} {
  %0 = stablehlo.subtract %w, %g : tensor<f32>
  return %0 : tensor<f32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<2xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<4xf32>, role = "x"}
  pm.buffer @w state : tensor<f32> sharding <@mesh, []> {global_type = tensor<f32>, role = "parameter", parameter = "w"}
  pm.buffer @value value : tensor<f32> sharding <@mesh, []> {global_type = tensor<f32>}
  pm.buffer @h activation : tensor<2xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<4xf32>}
  pm.buffer @y activation : tensor<2xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<4xf32>, role = "y"}
  pm.buffer @part accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"mb"}> {global_type = tensor<f32>}
  pm.buffer @dh activation : tensor<2xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<4xf32>}
  pm.buffer @w.gradient accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"mb"}> {global_type = tensor<f32>, role = "gradient", parameter = "w"}
  pm.role 0 {
  }
  pm.role 1 {
  }
}
