// RUN: pmopt %s --pm-check-program=memory-limit=95 --split-input-file --verify-diagnostics

// expected-error @below {{expected a mesh and one program, but the module has no mesh and 0 programs; run pm-split-stages}}
module {
}

// -----

pm.mesh @mesh = [<"pp", stage = 2>]
func.func @stage0_forward(%x: tensor<4xf32> {pm.buffer = @x}) -> (tensor<4xf32> {pm.buffer = @y})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{meets along axis "pp", but the other stages run other fragments and never come here; use pm.send and pm.receive}}
  %sum = pm.all_reduce sum(%x) over ["pp"] on @mesh : tensor<4xf32>
  return %sum : tensor<4xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]> {global_type = tensor<4xf32>}
  pm.buffer @y output : tensor<4xf32> sharding <@mesh, [{}]> {global_type = tensor<4xf32>}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
  }
}

// -----

pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward(%x: tensor<4xf32> {pm.buffer = @x}) -> (tensor<4xf32> {pm.buffer = @y})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  // expected-error @below {{meets along axis "mb", over which there are no ranks, but micro-batches}}
  %sum = pm.all_reduce sum(%x) over ["mb"] on @mesh : tensor<4xf32>
  return %sum : tensor<4xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{}]> {global_type = tensor<4xf32>}
  pm.buffer @y output : tensor<4xf32> sharding <@mesh, [{}]> {global_type = tensor<4xf32>}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    pm.action forward stage 0 micro_batch 1
  }
}

// -----

// The value of the first micro-batch is held until the second one is there.
pm.mesh @mesh = [<"mb", temporal = 2>]
func.func @stage0_forward(%x: tensor<4xf32> {pm.buffer = @x}) -> (tensor<4xf32> {pm.buffer = @h})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  return %x : tensor<4xf32>
}
func.func @stage0_backward(%h: tensor<4xf32> {pm.buffer = @h}) -> (tensor<4xf32> {pm.buffer = @y})
    attributes {pm.fragment = #pm.fragment<backward, 0>} {
  return %h : tensor<4xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<4xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<8xf32>}
  pm.buffer @h activation : tensor<4xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<8xf32>}
  pm.buffer @y output : tensor<4xf32> sharding <@mesh, [{"mb"}]> {global_type = tensor<8xf32>}
  // expected-error @below {{role 0 holds 96 bytes at its peak, but a rank has 95; use more stages, shards or micro-batches, or recompute=full}}
  pm.role 0 {
    pm.action forward stage 0 micro_batch 0
    // expected-note @below {{it holds them here}}
    pm.action forward stage 0 micro_batch 1
    pm.action backward stage 0 micro_batch 0
    pm.action backward stage 0 micro_batch 1
  }
}
