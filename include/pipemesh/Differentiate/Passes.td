//===- Passes.td - passes of the differentiation phase -----*- tablegen -*-===//

#ifndef PIPEMESH_DIFFERENTIATE_PASSES_TD
#define PIPEMESH_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"pm-differentiate", "::mlir::ModuleOp"> {
  let summary = "turns a model graph into a training step";
  let description = [{
    **Before**: a model graph. `@main` has one block; its parameters are
    arguments marked `{pm.state = #pm.state<parameter, NAME>}`; one result is
    marked `{pm.output = "loss"}` and is a floating-point scalar. A module whose
    `pm.task` is `"eval"`, or which has a `pm.recipe`, is refused.

    **After**: a differentiated graph. `@main` computes, in this order, the
    forward pass, the gradients of the loss (a reverse sweep over the ops'
    `DifferentiableOpInterface`), and one update of every trained parameter.

    - New arguments: the moments of each trained parameter
      (`#pm.state<moment1, NAME>`, `#pm.state<moment2, NAME>`), the number of
      updates done so far (`#pm.state<step, "step">`), and the run-time scalars
      `learning_rate`, `beta1`, `beta2`, `epsilon`, `weight_decay` and, with
      `clip`, `clip_norm` (`pm.input`).
    - New results: `{pm.output = "grad_norm"}`, the norm over all trained
      parameters before clipping, each logical parameter counted once;
      `{pm.output = "gradient", pm.name = NAME}` for each trained parameter; and
      the new state, each marked with the `pm.state` of its argument.
    - Every op of the body but the terminator has
      `pm.phase = "forward" | "backward" | "update"`; no op uses a result of a
      later phase. A backward op has the location of its forward op, an update
      op the name of its parameter.
    - The module has `pm.recipe` with `optimizer`, `decay`, `trainable`, `clips`.
    - A parameter used several times has one gradient, the sum. Nothing that no
      result depends on is left: no gradient towards integers or frozen
      parameters, and no two equal ops.

    A parameter that no `trainable` pattern matches is frozen: it has no
    gradient, moments or update. An op without a gradient on a path from a
    trainable parameter to the loss is an error that names both.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x3xf32> {pm.input = "x"},
        %w: tensor<2x3xf32> {pm.state = #pm.state<parameter, "w">}) -> (tensor<f32> {pm.output = "loss"}) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
      %e = stablehlo.exponential %y : tensor<4x2xf32>
      %loss = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    After, with `decay=matrices` (types and phases left out; `b` for backward,
    `u` for update):
    ```mlir
    func.func @main(%x, %w, %m1 {pm.state = #pm.state<moment1, "w">}, %m2 {pm.state = #pm.state<moment2, "w">},
        %n {pm.state = #pm.state<step, "step">}, %lr {pm.input = "learning_rate"}, %b1, %b2, %eps, %wd)
        -> ({pm.output = "loss"}, {pm.output = "grad_norm"}, {pm.output = "gradient", pm.name = "w"},
            {pm.state = #pm.state<parameter, "w">}, {pm.state = #pm.state<moment1, "w">},
            {pm.state = #pm.state<moment2, "w">}, {pm.state = #pm.state<step, "step">}) {
      ...                                          // forward, as before
      %dw = stablehlo.dot_general %e, %x, contracting_dims = [0] x [0]                                   // b
      %sq = stablehlo.multiply %dw, %dw                                                                  // u
      %ss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0, 1]           // u
      %norm = stablehlo.sqrt %ss                                                                         // u
      %one = stablehlo.constant dense<1.0>                                                               // u
      %t = stablehlo.add %n, %one                                                                        // u
      %w2, %m12, %m22 = pm.adamw %w, %dw, %m1, %m2 scalars %t, %lr, %b1, %b2, %eps, %wd, %one decay      // u
      return %loss, %norm, %dw, %w2, %m12, %m22, %t
    }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "The optimizer: adamw">,
    Option<"decay", "decay", "std::string", "\"all\"",
           "Which parameters the weight decay applies to: all, or matrices "
           "(those with two or more dimensions)">,
    Option<"clip", "clip", "bool", "false",
           "Scale the gradients when their global norm exceeds clip_norm">,
    ListOption<"trainable", "trainable", "std::string",
               "Patterns (*, ?, [a-z], {a,b}) of the names of the parameters "
               "that are trained; all are by default">
  ];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect",
                           "::pipemesh::pm::PMDialect"];
}

def DifferentiateFunction
    : Pass<"pm-differentiate-function", "::mlir::ModuleOp"> {
  let summary = "adds the gradient of every function beside it";
  let description = [{
    For tests of gradients.

    **Before**: functions of one block.

    **After**: for each `@f(args) -> results` also `@f_grad(args, cotangents of
    the floating-point results) -> cotangents of the floating-point arguments`,
    in their order. The cotangent of an argument that no result depends on is
    zero.

    Before:
    ```mlir
    func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
      %y = stablehlo.exponential %x : tensor<3xf64>
      return %y : tensor<3xf64>
    }
    ```
    After:
    ```mlir
    func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
      %y = stablehlo.exponential %x : tensor<3xf64>
      return %y : tensor<3xf64>
    }
    func.func @f_grad(%x: tensor<3xf64>, %dy: tensor<3xf64>) -> tensor<3xf64> {
      %y = stablehlo.exponential %x : tensor<3xf64>
      %dx = stablehlo.multiply %dy, %y : tensor<3xf64>
      return %dx : tensor<3xf64>
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect",
                           "::pipemesh::pm::PMDialect"];
}

def VerifyDifferentiated
    : Pass<"pm-verify-differentiated", "::mlir::ModuleOp"> {
  let summary = "checks that a module is a differentiated graph";
  let description = [{
    Checks what `pm-differentiate` promises, and changes nothing: phases on all
    ops, none depending on a later one; the recipe; for each trained parameter
    its moments, its gradient and a result for each of its states, of the
    argument's type; the step; `loss`, `grad_norm` and the run-time scalars.
  }];
}

#endif // PIPEMESH_DIFFERENTIATE_PASSES_TD
