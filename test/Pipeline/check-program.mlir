// RUN: pmopt %s --pm-check-program=report=true --verify-diagnostics

// Two stages, two micro-batches: inputs, results and state are held for the whole
// step, other values from when they are made to their last use.
pm.mesh @mesh = [<"dp", spatial = 2>, <"pp", stage = 2>, <"mb", temporal = 2>]
func.func @stage0_forward(%x: tensor<2x4xf32> {pm.buffer = @x}) -> (tensor<2x4xf32> {pm.buffer = @h})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return %x : tensor<2x4xf32>
}
func.func @stage1_forward(%h: tensor<2x4xf32> {pm.buffer = @h}) -> (tensor<2x4xf32> {pm.buffer = @y})
    attributes {pm.fragment = #pm.fragment<forward, 1>} {
  %sum = pm.all_reduce sum(%h) over ["dp"] on @mesh : tensor<2x4xf32>
  return %sum : tensor<2x4xf32>
}
// expected-remark @below {{proved: 2 roles, 8 actions, 2 transfers, 2 collectives; peaks of 96, 96 bytes}}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<2x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {global_type = tensor<8x4xf32>}
  pm.buffer @h activation : tensor<2x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {global_type = tensor<8x4xf32>}
  pm.buffer @y output : tensor<2x4xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {global_type = tensor<8x4xf32>}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    pm.send @h to 1 micro_batch 0
    pm.action forward stage 0 micro_batch 1
    pm.send @h to 1 micro_batch 1
  }
  pm.role 1 {
    pm.receive @h from 0 micro_batch 0
    pm.action forward stage 1 micro_batch 0
    pm.receive @h from 0 micro_batch 1
    pm.action forward stage 1 micro_batch 1
  }
}
