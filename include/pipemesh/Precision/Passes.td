//===- Passes.td - passes of the precision phase ------------*- tablegen -*-===//

#ifndef PIPEMESH_PRECISION_PASSES_TD
#define PIPEMESH_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerMatmulPrecision
    : Pass<"pm-lower-matmul-precision", "::mlir::ModuleOp"> {
  let summary = "make matrix products and attention of bf16";
  let description = [{
    Before: a model graph, differentiated or not. After: the operands of each
    `stablehlo.dot_general` of f32 are rounded to `type`, and its result is still
    f32, in which it is summed: what JAX calls the default precision of a matmul on
    accelerators. `pm.attention` and its gradient take and give `type`; their `lse`
    stays f32. State, sums, norms, losses and updates are not touched, so that the
    parameters are their own master copies.

    A value is rounded once, where it is made, for all that read it; for a parameter
    that is once a step (the prologue). What the backward pass needs of it is kept
    rounded.

    ```mlir
    // before
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
    // after
    %a = stablehlo.convert %x : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %b = stablehlo.convert %w : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4x3xbf16>, tensor<2x3xbf16>) -> tensor<4x2xf32>
    ```
  }];
  let options = [Option<"type", "type", "std::string", /*default=*/"\"bf16\"",
                        "what products are made of: bf16">];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect"];
}

#endif
