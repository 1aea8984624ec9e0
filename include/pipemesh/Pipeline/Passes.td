//===- Passes.td - stages, fragments and schedules ----------*- tablegen -*-===//

#ifndef PIPEMESH_PIPELINE_PASSES_TD
#define PIPEMESH_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStagesPass : Pass<"pm-assign-stages", "::mlir::ModuleOp"> {
  let summary = "give every op a pipeline stage";
  let description = [{
    Before: a sharded graph. After: every op of its functions carries
    `pm.stage`. A mesh without a stage axis, or with one of size 1, has one
    stage, 0. A larger stage axis is refused. A stage that an op already carries
    must exist.

    ```mlir
    %y = stablehlo.tanh %x : tensor<8x16xf32>
    ```

    becomes

    ```mlir
    %y = stablehlo.tanh %x {pm.stage = 0 : i64} : tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
}

def SplitStagesPass : Pass<"pm-split-stages", "::mlir::ModuleOp"> {
  let summary = "cut the step into fragments that exchange buffers";
  let description = [{
    Before: a sharded graph in one function, its ops with `pm.stage` and, in a
    training step, `pm.phase`. After: one function for each non-empty fragment of
    each stage, with global shapes and shardings, and a `pm.program` with the
    buffers that they exchange. A fragment's arguments and results carry
    `pm.buffer`.

    Where an op goes:

    - *update*: ops of the update phase, a sum over a temporal axis of
      something that depends on state and on a micro-batch, and whatever needs
      the result of one;
    - *prologue*: what forward or backward ops need and does not depend on a
      micro-batch's activations: sums over a temporal axis of functions of the
      inputs (with all they depend on, computed for the whole batch), and
      values that depend on state or on nothing (tables);
    - *forward*, *backward*: everything else that a temporal axis cuts, by phase.

    What crosses: a value of the forward fragment that the backward one reads is
    an activation; a value that is partial over a temporal axis is an accumulator
    for the update; a prologue's value is a value. Ops that only move or compare
    elements of inputs and constants are cloned into each fragment that needs
    them, and so are reshapes and broadcasts of saved activations and partial
    values that the backward fragment reads for its own micro-batch. Elementwise
    ops whose results the backward reads in elementwise ops only, and whose
    operands it reads anyhow (the logistic of a gate), are computed again too.

    State results go to the buffer of their argument. The reduced gradient of a
    parameter, which is an output, goes to the accumulator that it was summed in:
    after the update that buffer holds the gradient.

    A forward or backward op that needs a sum over a temporal axis of activations
    is refused: the sum is complete only after all micro-batches.

    ```mlir
    func.func @main(%x: tensor<8x4xf32> {pm.input = "x", pm.sharding = #pm.sharding<@mesh, [{"mb"}, {} ]>},
                    %w: tensor<4x4xf32> {pm.state = #pm.state<parameter, "w">, ...}) -> (tensor<f32> {pm.output = "loss"}) {
      %y = stablehlo.dot_general %x, %w ... {pm.shardings = [#pm.sharding<@mesh, [{"mb"}, {} ]>]}
      %s = stablehlo.reduce(%y init: %zero) ... {pm.shardings = [#pm.sharding<@mesh, [], partial = sum{"mb"}>]}
      %r = pm.reshard %s from <@mesh, [], partial = sum{"mb"}> to <@mesh, []> : tensor<f32>
      return %r : tensor<f32>
    }
    ```

    becomes

    ```mlir
    func.func @stage0_forward(%x: tensor<8x4xf32> {pm.buffer = @x}, %w: tensor<4x4xf32> {pm.buffer = @w})
        -> (tensor<f32> {pm.buffer = @sum.reduce}) attributes {pm.fragment = #pm.fragment<forward, 0>} { ... }
    func.func @stage0_update(%s: tensor<f32> {pm.buffer = @sum.reduce})
        -> (tensor<f32> {pm.buffer = @loss}) attributes {pm.fragment = #pm.fragment<update, 0>} {
      %r = pm.reshard %s from <@mesh, [], partial = sum{"mb"}> to <@mesh, []> : tensor<f32>
      return %r : tensor<f32>
    }
    pm.program @step on @mesh {
      pm.buffer @x input : tensor<8x4xf32> sharding <@mesh, [{"mb"}, {} ]> {role = "x"}
      pm.buffer @w state : tensor<4x4xf32> sharding <@mesh, [{}, {} ]> {parameter = "w", role = "parameter"}
      pm.buffer @sum.reduce accumulator : tensor<f32> sharding <@mesh, [], partial = sum{"mb"}>
      pm.buffer @loss output : tensor<f32> sharding <@mesh, []> {role = "loss"}
      pm.role 0 {
      }
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
}

def VerifyFragmentsPass : Pass<"pm-verify-fragments", "::mlir::ModuleOp"> {
  let summary = "check that a module holds fragments and their program";
  let description = [{
    Every function is a fragment, one for each kind and stage; its arguments and
    results have the type and the sharding of the buffer that they are bound to;
    a buffer is written no later than it is read; no sum over a temporal axis is
    taken within a micro-batch. Changes nothing.
  }];
}

def SchedulePass : Pass<"pm-schedule", "::mlir::ModuleOp"> {
  let summary = "fill the roles with actions";
  let description = [{
    Before: fragments and a program whose roles are empty. After: each `pm.role`
    lists the runs of fragments in their total order. Fragments that do not exist
    have no action.

    - `1f1b`: with one stage each micro-batch goes forward and then backward,
      which keeps the activations of one at a time;
    - `gpipe`: all micro-batches go forward, then all backward.

    With `name=1f1b` on two micro-batches:

    ```mlir
    pm.role 0 {
    }
    ```

    becomes

    ```mlir
    pm.role 0 {
      pm.action prologue stage 0 micro_batch 0
      pm.action forward stage 0 micro_batch 0
      pm.action backward stage 0 micro_batch 0
      pm.action forward stage 0 micro_batch 1
      pm.action backward stage 0 micro_batch 1
      pm.action update stage 0 micro_batch 0
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
  let options = [
    Option<"name", "name", "std::string", /*default=*/"\"1f1b\"",
           "gpipe or 1f1b">
  ];
}

def VerifyScheduledPass : Pass<"pm-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "check that the roles of a program are complete and in order";
  let description = [{
    Each fragment that exists runs once (prologue, update) or once for each
    micro-batch; the prologue before all others, the update after all others, a
    micro-batch's forward before its backward. Changes nothing.
  }];
}

#endif
