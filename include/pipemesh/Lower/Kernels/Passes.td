//===- Passes.td - forming kernels ---------------------------*- tablegen -*-===//

#ifndef PIPEMESH_LOWER_KERNELS_PASSES_TD
#define PIPEMESH_LOWER_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseKernels : Pass<"pm-fuse-kernels", "::mlir::func::FuncOp"> {
  let summary = "group tensor ops into fused kernels";
  let description = [{
    Before: a function of the partitioned level, made of stablehlo and pm ops.
    After: its body holds only `pmrt.fused`, `stablehlo.dot_general`,
    `stablehlo.reshape` (a view), collectives and the terminator.

    Model ops are replaced by their decompositions, but for attention, embedding
    and their gradients, which have kernels of their own. An op then joins the
    kernel of one of its operands when both can be computed row by row with the
    same rows, and when no other kernel would have to run in between. Constants,
    iotas, broadcasts and reshapes are copied into each kernel that reads them. A
    sum over all rows takes with it what only it reads. A sum of a whole large
    tensor is made in two steps, over a number of pieces that does not depend on
    the threads, so that it can be computed in parallel and its bits repeat.

    ```mlir
    func.func @before(%a: tensor<8x20x32xf32>, %b: tensor<8x20x32xf32>, %w: tensor<32xf32>) -> (tensor<8x20x32xf32>, tensor<8x20x32xf32>) {
      %x = stablehlo.add %a, %b : tensor<8x20x32xf32>
      %y, %rstd = pm.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x20x32xf32>, tensor<32xf32> -> tensor<8x20xf32>
      return %x, %y : tensor<8x20x32xf32>, tensor<8x20x32xf32>
    }
    ```

    becomes one kernel with two results:

    ```mlir
    func.func @after(%a: tensor<8x20x32xf32>, %b: tensor<8x20x32xf32>, %w: tensor<32xf32>) -> (tensor<8x20x32xf32>, tensor<8x20x32xf32>) {
      %0:2 = pmrt.fused (%a, %b, %w) in_place [0, 1] : (...) -> (...) {
        ...
      }
      return %0#0, %0#1 : tensor<8x20x32xf32>, tensor<8x20x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::pipemesh::stablehlo::StableHLODialect",
                           "::pipemesh::pmrt::PMRTDialect"];
}

#endif
