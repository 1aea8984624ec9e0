//===- Passes.td - stages, fragments and schedules ----------*- tablegen -*-===//

#ifndef PIPEMESH_PIPELINE_PASSES_TD
#define PIPEMESH_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStagesPass : Pass<"pm-assign-stages", "::mlir::ModuleOp"> {
  let summary = "give every op a pipeline stage";
  let description = [{
    Before: a sharded graph. After: every op of its functions carries
    `pm.stage`, except that with several stages ops of the update phase carry
    none: they run where their state is.

    The number of stages is the size of the mesh's stage axis. With one stage,
    all is on stage 0. With several:

    - A stage that an op carries already is kept; it must exist.
    - A forward op whose location names a layer (`model.layers.3.mlp`: the name
      up to its first number) goes with its layer. Layers, in the order of their
      first op, are divided as `pm.stage_layers` of the module says; without it so
      that the step takes the least time in the module's schedule, by the costs of
      the ops on the module's device and links (docs/schedules.md), and
      `pm.balance` says what that gains over equal numbers. Equal numbers, where
      the last stages get what is left over, stay where nothing is better, and
      where ops carry stages. More stages than layers are refused.
    - A graph whose locations name no layer is cut in the order of its ops into
      pieces of about equal cost.
    - Other forward ops, and reshards, stay with the last of the ops that they
      need; those that need none go to the first stage that uses them. No op is
      on an earlier stage than what it needs, nor on a later one than an op that
      needs it and carries a stage.
    - A backward op goes to the stage of its forward op, which has the same
      location (or, without locations, reads the same values), but on no later
      one than a gradient that it needs. The sum of a value's gradients is thus on
      the first stage that uses the value, and is sent once.

    Where the module's `pm.schedule` is zb-auto, its lists are fitted to the stages
    and become `pm.actions`.

    ```mlir
    pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
    func.func @main(%x: tensor<8x16xf32> {pm.input = "x"}, %w: tensor<8x16xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8x16xf32> {
      %0 = stablehlo.multiply %x, %w : tensor<8x16xf32> loc("layers.0")
      %1 = stablehlo.tanh %0 : tensor<8x16xf32> loc("layers.1")
      return %1 : tensor<8x16xf32>
    }
    ```

    becomes

    ```mlir
    pm.mesh @mesh = [<"pp", stage = 2>, <"mb", temporal = 2>]
    func.func @main(%x: tensor<8x16xf32> {pm.input = "x"}, %w: tensor<8x16xf32> {pm.state = #pm.state<parameter, "w">}) -> tensor<8x16xf32> {
      %0 = stablehlo.multiply %x, %w {pm.stage = 0 : i64} : tensor<8x16xf32>
      %1 = stablehlo.tanh %0 {pm.stage = 1 : i64} : tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
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
      Where the module's `pm.schedule` runs the two apart (`zb-h1`, `zb-v` ...), the
      backward is two fragments: *input_gradient*, what another stage's backward
      waits for and nothing more, and *weight_gradient*, the rest. A stage that
      sends no gradient, as the first, has in its *input_gradient* what the
      gradients of more than one weight need.

    Where the module's `pm.recompute` is "full", a backward computes again what it
    reads of its stage's forward, from what the stage received; *weight_gradient*
    reads what *input_gradient* computed.

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

    With several stages, fragments of the same kind read each other's values too,
    forwards those of earlier stages, backwards those of later ones, and each
    value has one home, from which `pm-schedule` sends it. There is a further
    fragment, *reduce*, between the last backward and the update: sums over
    micro-batches are completed there, so that the updates of all stages can use
    them. Further:

    - What needs no state (tables, masks, counts of labels) has no home: each
      stage computes it from the inputs. Reshapes and broadcasts are made again
      where they are used.
    - A state lives on each stage whose prologue, forward or backward reads it,
      and is updated on each of them; a tied embedding lives on two. Its moments
      live with it, and the step counter everywhere.
    - A sum over micro-batches whose parts come from several stages (the gradient
      of a tied parameter) is completed by the reduce of the lowest of them. The
      updates of the others receive the result.
    - The sum of numbers of several stages (the squared norm of all gradients) is
      regrouped: each reduce adds up its own stage's, and every update adds the
      stages' sums, in stage order. So scalars are computed on each stage, and a
      parameter counts once.
    - An output is written once, on the lowest stage that has what it needs.

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

def WrapFunctionPass : Pass<"pm-wrap-function", "::mlir::ModuleOp"> {
  let summary = "make the program of one fragment of a function";
  let description = [{
    Before: one sharded function that is no training step (what JAX exports), on
    a mesh of spatial axes. After: it is the forward fragment of stage 0, and a
    `pm.program` has an input for each argument, `arg0`, `arg1`..., and an output
    for each result, `out0`..., in the function's order. `pm.name` of a buffer is
    what the source calls it: `jax.result_info` of a result, the location or
    `pm.input` of an argument.

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>]
    func.func @main(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {} ]>}) -> (tensor<8x4xf32> {jax.result_info = "result"}) {
      %0 = stablehlo.tanh %x {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {} ]>]} : tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    ```

    becomes

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>]
    func.func @stage0_forward(%x: tensor<8x4xf32> {pm.buffer = @arg0, pm.sharding = #pm.sharding<@mesh, [{"dp"}, {} ]>})
        -> (tensor<8x4xf32> {pm.buffer = @out0, pm.sharding = #pm.sharding<@mesh, [{"dp"}, {} ]>}) attributes {pm.fragment = #pm.fragment<forward, 0>} {
      %0 = stablehlo.tanh %x {pm.shardings = [#pm.sharding<@mesh, [{"dp"}, {} ]>]} : tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    pm.program @step on @mesh {
      pm.buffer @arg0 input : tensor<8x4xf32> sharding <@mesh, [{"dp"}, {} ]> {role = "argument"}
      pm.buffer @out0 output : tensor<8x4xf32> sharding <@mesh, [{"dp"}, {} ]> {pm.name = "result", role = "result"}
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
    results have the type and the sharding of the buffer that they are bound to
    (an accumulator may hold its sum after a reduce or update); a buffer is
    written by an earlier fragment than reads it; no sum over a temporal axis is
    taken within a micro-batch. Changes nothing.
  }];
}

def SchedulePass : Pass<"pm-schedule", "::mlir::ModuleOp"> {
  let summary = "fill the roles with actions";
  let description = [{
    Before: fragments and a program whose roles are empty. After: each `pm.role`
    lists the runs of its stages' fragments in their total order, and the
    transfers that they need. `pm.rank_of_stage` on the module places the stages;
    without it each rank has one. Fragments that do not exist have no action.

    - `1f1b`: a stage starts as many micro-batches as there are stages behind it,
      then takes one forward and one backward in turn. It keeps the activations
      of at most as many micro-batches as there are stages from it on.
    - `gpipe`: all micro-batches go forward, then all backward.
    - `zb-h1`, `zb-h2`: input gradients as soon as they can, weight gradients
      later, in gaps; for backwards that pm-split-stages has cut in two. The other
      schedules run the two parts of such a backward behind each other.

    - `interleaved-1f1b`, `looped-bfs`: several stages on a rank, in a loop.
    - `zb-v`, `dualpipe-v`: two, in a V.

    The lists are those of the library `lib/Schedule` (docs/schedules.md).

    Without `name`, the module's `pm.actions` are the lists (those of a file, or
    of zb-auto), else its `pm.schedule` decides, else 1f1b.

    A value that another stage reads is sent directly behind the action that
    makes it (a sum over micro-batches behind the last one that adds to it), and
    received directly in front of the first action of the other role that reads
    it.

    With `name=1f1b` on two stages and two micro-batches:

    ```mlir
    pm.role 0 {
    }
    pm.role 1 {
    }
    ```

    becomes

    ```mlir
    pm.role 0 {
      pm.action forward stage 0 micro_batch 0
      pm.send @x to 1 micro_batch 0
      pm.action forward stage 0 micro_batch 1
      pm.send @x to 1 micro_batch 1
      pm.receive @dx from 1 micro_batch 0
      pm.action backward stage 0 micro_batch 0
      pm.receive @dx from 1 micro_batch 1
      pm.action backward stage 0 micro_batch 1
      pm.action update stage 0 micro_batch 0
    }
    pm.role 1 {
      pm.receive @x from 0 micro_batch 0
      pm.action forward stage 1 micro_batch 0
      pm.action backward stage 1 micro_batch 0
      pm.send @dx to 0 micro_batch 0
      pm.receive @x from 0 micro_batch 1
      pm.action forward stage 1 micro_batch 1
      pm.action backward stage 1 micro_batch 1
      pm.send @dx to 0 micro_batch 1
      pm.action update stage 1 micro_batch 0
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect"];
  let options = [
    Option<"name", "name", "std::string", /*default=*/"",
           "a schedule, such as gpipe or 1f1b; empty for the module's">
  ];
}

def VerifyScheduledPass : Pass<"pm-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "check that the roles of a program are complete and in order";
  let description = [{
    Each fragment that exists runs once (prologue, reduce, update) or once for
    each micro-batch; the prologue before all others, the reduce after all
    backwards, the update after all others, a micro-batch's forward before its
    backward. Every send has one receive on its peer, in the same order. Run
    against each other, no role reads what it has neither computed nor received,
    sends what it does not have or has not added up, or waits forever. Changes
    nothing.
  }];
}

def CheckProgramPass : Pass<"pm-check-program", "::mlir::ModuleOp"> {
  let summary = "prove that a scheduled program runs to its end in its memory";
  let description = [{
    Before: pm-verify-scheduled holds. Proves of all ranks of the mesh:

    - Every collective of a fragment meets along axes of the ranks that run this
      fragment: spatial ones. These ranks run one list of actions, so that they
      come to the same collectives, with the same counts and types, in one order
      over all communicators; where a loop or a choice has collectives,
      pm-verify-kernels proves that its condition is the same on them. A stage
      axis is refused: the roles there run other fragments.
    - What a role holds, state and inputs and the values from when they are made
      or arrive to their last use, fits in `memory-limit`. Scratch and what
      libraries reserve come to it in the bundle, whose own proof counts them.

    With pm-verify-scheduled this is that transfers are one to one, that no cycle
    of waits is there, and that every value is there when it is used. The bundle
    is proved once more from its tables, by a program that shares nothing with
    the compiler. Changes nothing.
  }];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes of a rank; 0 for any number">,
    Option<"report", "report", "bool", /*default=*/"false",
           "say what was proved in a remark at the program">
  ];
}

#endif
