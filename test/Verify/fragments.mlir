// Fragments of global shapes run once each; partitioned ones on all ranks and
// micro-batches. One step of least squares, w' = w - sum over the batch.
// RUN: split-file %s %t
// RUN: pmcheck equiv %t/model.mlir %t/fragments.mlir | FileCheck %s --check-prefix=FRAGMENTS
// RUN: pmcheck equiv %t/model.mlir %t/partitioned.mlir | FileCheck %s --check-prefix=PARTITIONED
// RUN: pmcheck equiv %t/fragments.mlir %t/partitioned.mlir --seed=5 | FileCheck %s --check-prefix=PARTITIONED
// The order of the actions is free as long as nothing is read before it is written.
// RUN: sed 's,// actions,pm.action prologue stage 0 micro_batch 0 pm.action forward stage 0 micro_batch 1 pm.action forward stage 0 micro_batch 0 pm.action backward stage 0 micro_batch 0 pm.action backward stage 0 micro_batch 1 pm.action update stage 0 micro_batch 0,' %t/partitioned.mlir > %t/gpipe.mlir
// RUN: pmcheck equiv %t/model.mlir %t/gpipe.mlir | FileCheck %s --check-prefix=PARTITIONED
// RUN: sed 's,// actions,pm.action prologue stage 0 micro_batch 0 pm.action forward stage 0 micro_batch 0 pm.action backward stage 0 micro_batch 1,' %t/partitioned.mlir > %t/early.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/early.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's,// actions,pm.action prologue stage 0 micro_batch 0 pm.action forward stage 0 micro_batch 0 pm.action backward stage 0 micro_batch 0 pm.action update stage 0 micro_batch 0,' %t/partitioned.mlir > %t/forgotten.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/forgotten.mlir 2>&1 | FileCheck %s --check-prefix=FORGOTTEN
// RUN: sed 's,// actions,pm.action prologue stage 0 micro_batch 0 pm.action forward stage 0 micro_batch 0 pm.action forward stage 0 micro_batch 1 pm.action backward stage 0 micro_batch 0 pm.action backward stage 0 micro_batch 0 pm.action update stage 0 micro_batch 0,' %t/partitioned.mlir > %t/slice.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/slice.mlir 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: sed 's,// actions,pm.action forward stage 0 micro_batch 2,' %t/partitioned.mlir > %t/range.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/range.mlir 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: sed 's,// actions,pm.action weight_gradient stage 0 micro_batch 1,' %t/partitioned.mlir > %t/kind.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/kind.mlir 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed 's/%%count: tensor<f32> {pm.buffer = @count}/%%count: tensor<f32> {pm.buffer = @sum}/' %t/partitioned.mlir > %t/incomplete.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/incomplete.mlir 2>&1 | FileCheck %s --check-prefix=INCOMPLETE
// The all-reduce of the gradient is left out: the ranks update apart.
// RUN: sed 's/%%total = pm.all_reduce sum(%%g).*/%%total = stablehlo.optimization_barrier %%g : tensor<3xf32>/' %t/partitioned.mlir > %t/missing.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// The gradient is doubled.
// RUN: sed 's/%%total = pm.all_reduce sum(%%g)/%%g2 = stablehlo.add %%g, %%g : tensor<3xf32> %%total = pm.all_reduce sum(%%g2)/' %t/partitioned.mlir > %t/twice.mlir
// RUN: not pmcheck equiv %t/model.mlir %t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE

// FRAGMENTS: fragments.mlir: fragments of 'step'{{$}}
// FRAGMENTS: compared 4 values
// FRAGMENTS: equivalent
// PARTITIONED: fragments of 'step' on 2 ranks x 2 micro-batches
// PARTITIONED: compared 4 values
// PARTITIONED: equivalent
// EARLY: error: reads buffer 'error' of micro-batch 1 before anything has written it
// FORGOTTEN: error: is an output, but no fragment has written it at the end of the step
// SLICE: pmcheck: error: 'gradient w' departs
// RANGE: error: has an action for micro-batch 2 of 2
// KIND: error: has an action for the weight_gradient of stage 0, and there is no such fragment
// INCOMPLETE: error: reads buffer 'sum', a sum over the micro-batches that is complete only when all of them have run
// MISSING: error: buffer 'w' is the same on ranks 0 and 1 by its sharding
// TWICE: pmcheck: error: 'gradient w' departs

//--- model.mlir
func.func @main(%x: tensor<8x3xf32> {pm.input = "x"}, %w: tensor<3xf32> {pm.state = #pm.state<parameter, "w">})
    -> (tensor<8xf32> {pm.output = "predictions"}, tensor<f32> {pm.output = "loss"}, tensor<3xf32> {pm.output = "gradient", pm.name = "w"}, tensor<3xf32> {pm.state = #pm.state<parameter, "w">}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8xf32>
  %wide = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %e = stablehlo.multiply %y, %wide : tensor<8xf32>
  %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x3xf32>) -> tensor<3xf32>
  %w2 = stablehlo.subtract %w, %g : tensor<3xf32>
  return %y, %loss, %g, %w2 : tensor<8xf32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

//--- fragments.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @stage0_prologue(%x: tensor<8x3xf32> {pm.buffer = @x}) -> (tensor<f32> {pm.buffer = @count})
    attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
  %count = pm.reshard %part from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> : tensor<f32>
  return %count : tensor<f32>
}
func.func @stage0_forward(%x: tensor<8x3xf32> {pm.buffer = @x}, %w: tensor<3xf32> {pm.buffer = @w}, %count: tensor<f32> {pm.buffer = @count})
    -> (tensor<8xf32> {pm.buffer = @predictions}, tensor<8xf32> {pm.buffer = @error}, tensor<f32> {pm.buffer = @sum})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8xf32>
  %wide = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %e = stablehlo.multiply %y, %wide : tensor<8xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %y, %e, %sum : tensor<8xf32>, tensor<8xf32>, tensor<f32>
}
func.func @stage0_backward(%x: tensor<8x3xf32> {pm.buffer = @x}, %e: tensor<8xf32> {pm.buffer = @error})
    -> (tensor<3xf32> {pm.buffer = @w.gradient}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %g = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x3xf32>) -> tensor<3xf32>
  return %g : tensor<3xf32>
}
func.func @stage0_update(%w: tensor<3xf32> {pm.buffer = @w}, %g: tensor<3xf32> {pm.buffer = @w.gradient}, %sum: tensor<f32> {pm.buffer = @sum})
    -> (tensor<f32> {pm.buffer = @loss}, tensor<3xf32> {pm.buffer = @w.gradient}, tensor<3xf32> {pm.buffer = @w})
    attributes {pm.fragment = #pm.fragment<update, 0>} {
  %total = pm.reshard %g from <@mesh, [{}], partial = sum{"dp", "mb"}> to <@mesh, [{}]> : tensor<3xf32>
  %loss = pm.reshard %sum from <@mesh, [], partial = sum{"dp", "mb"}> to <@mesh, []> : tensor<f32>
  %w2 = stablehlo.subtract %w, %total : tensor<3xf32>
  return %loss, %total, %w2 : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<8x3xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {role = "x"}
  pm.buffer @w state : tensor<3xf32> sharding <@mesh, [{}]> {role = "parameter", parameter = "w"}
  pm.buffer @count value : tensor<f32> sharding <@mesh, []>
  pm.buffer @predictions activation : tensor<8xf32> sharding <@mesh, [{"dp", "mb"}]> {role = "predictions"}
  pm.buffer @error activation : tensor<8xf32> sharding <@mesh, [{"dp", "mb"}]>
  pm.buffer @sum accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"dp", "mb"}>
  pm.buffer @w.gradient accumulator : tensor<3xf32> sharding <@mesh, [{}], partial = sum{"dp", "mb"}> {role = "gradient", parameter = "w"}
  pm.buffer @loss output : tensor<f32> sharding <@mesh, []> {role = "loss"}
  pm.role 0 {
  }
}

//--- partitioned.mlir
pm.mesh @mesh = [<"dp", spatial = 2>, <"mb", temporal = 2>]
func.func @stage0_prologue(%x: tensor<4x3xf32> {pm.buffer = @x}) -> (tensor<f32> {pm.buffer = @count})
    attributes {pm.fragment = #pm.fragment<prologue, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
  %count = pm.all_reduce sum(%part) over ["dp"] on @mesh : tensor<f32>
  return %count : tensor<f32>
}
func.func @stage0_forward(%x: tensor<2x3xf32> {pm.buffer = @x}, %w: tensor<3xf32> {pm.buffer = @w}, %count: tensor<f32> {pm.buffer = @count})
    -> (tensor<2xf32> {pm.buffer = @predictions}, tensor<2xf32> {pm.buffer = @error}, tensor<f32> {pm.buffer = @sum})
    attributes {pm.fragment = #pm.fragment<forward, 0>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  %wide = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %e = stablehlo.multiply %y, %wide : tensor<2xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %y, %e, %sum : tensor<2xf32>, tensor<2xf32>, tensor<f32>
}
func.func @stage0_backward(%x: tensor<2x3xf32> {pm.buffer = @x}, %e: tensor<2xf32> {pm.buffer = @error})
    -> (tensor<3xf32> {pm.buffer = @w.gradient}) attributes {pm.fragment = #pm.fragment<backward, 0>} {
  %g = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return %g : tensor<3xf32>
}
func.func @stage0_update(%w: tensor<3xf32> {pm.buffer = @w}, %g: tensor<3xf32> {pm.buffer = @w.gradient}, %sum: tensor<f32> {pm.buffer = @sum})
    -> (tensor<f32> {pm.buffer = @loss}, tensor<3xf32> {pm.buffer = @w.gradient}, tensor<3xf32> {pm.buffer = @w})
    attributes {pm.fragment = #pm.fragment<update, 0>} {
  %total = pm.all_reduce sum(%g) over ["dp"] on @mesh : tensor<3xf32>
  %loss = pm.all_reduce sum(%sum) over ["dp"] on @mesh : tensor<f32>
  %w2 = stablehlo.subtract %w, %total : tensor<3xf32>
  return %loss, %total, %w2 : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}
pm.program @step on @mesh {
  pm.buffer @x input : tensor<2x3xf32> sharding <@mesh, [{"dp", "mb"}, {}]> {global_type = tensor<8x3xf32>, role = "x"}
  pm.buffer @w state : tensor<3xf32> sharding <@mesh, [{}]> {global_type = tensor<3xf32>, role = "parameter", parameter = "w"}
  pm.buffer @count value : tensor<f32> sharding <@mesh, []> {global_type = tensor<f32>}
  pm.buffer @predictions activation : tensor<2xf32> sharding <@mesh, [{"dp", "mb"}]> {global_type = tensor<8xf32>, role = "predictions"}
  pm.buffer @error activation : tensor<2xf32> sharding <@mesh, [{"dp", "mb"}]> {global_type = tensor<8xf32>}
  pm.buffer @sum accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"dp", "mb"}> {global_type = tensor<f32>}
  pm.buffer @w.gradient accumulator : tensor<3xf32> sharding <@mesh, [{}], partial = sum{"dp", "mb"}> {global_type = tensor<3xf32>, role = "gradient", parameter = "w"}
  pm.buffer @loss output : tensor<f32> sharding <@mesh, []> {global_type = tensor<f32>, role = "loss"}
  pm.role 0 {
  // actions
  }
}
