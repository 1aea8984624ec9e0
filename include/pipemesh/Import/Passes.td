//===- Passes.td - import of StableHLO text ------------------*- tablegen -*-===//

#ifndef PIPEMESH_IMPORT_PASSES_TD
#define PIPEMESH_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportStableHLOPass : Pass<"pm-import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "turn a module that JAX prints into a model graph";
  let description = [{
    Before: `stablehlo`, `chlo`, `sdy` and `func` as `jax.jit(f).lower(...).as_text()`
    prints them. After: public functions without calls, with the mesh and the
    shardings in `pm`.

    - Calls and composites are inlined, in regions too; private functions are gone.
      A recursion is refused.
    - The `sdy.mesh`es become one `pm.mesh` of spatial axes: the first that has
      axes. The axes of others, which must have as many devices in the same order,
      become axes or parts of axes of it. A mesh of one device (maximal) or without
      axes says nothing.
    - `sdy.sharding` of arguments and results becomes `pm.sharding`, and on an op
      `pm.constrain` of its results; `sdy.sharding_constraint`, `sharding_group` and
      `manual_computation` become their namesakes of `pm`. `unreduced` becomes
      `partial = sum`. A constraint without anything to say (all dimensions open, or
      none) is removed, and so is one in the body of a reduction. A manual
      computation that does nothing with its axes is inlined.
    - Collectives in manual computations become those of `pm` over the mesh axes
      whose groups theirs are, `partition_id` becomes `pm.axis_index`. Groups that
      are those of no manual axes are refused.
    - `custom_call` is refused by name, except for `@Sharding` of older exports: the
      strings `mhlo.sharding` on it, on arguments and on results become shardings
      over a mesh with axes `_axis_0`, ... that fits all of them.
    - `optimization_barrier` and everything else stays.

    ```mlir
    sdy.mesh @mesh = <["dp"=2]>
    func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {} ]>}) -> tensor<8x4xf32> {
      %0 = call @f(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }
    func.func private @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
      %1 = sdy.sharding_constraint %0 <@mesh, [{"dp"}, {?} ]> : tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    ```

    becomes

    ```mlir
    pm.mesh @mesh = [<"dp", spatial = 2>]
    func.func public @main(%x: tensor<8x4xf32> {pm.sharding = #pm.sharding<@mesh, [{"dp"}, {} ]>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
      %1 = pm.constrain %0 to <@mesh, [{"dp"}, {?} ]> : tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::pm::PMDialect",
                           "::pipemesh::sdy::SDYDialect",
                           "::pipemesh::stablehlo::StableHLODialect"];
}

#endif
