//===- Passes.td - kernels for GPUs --------------------------*- tablegen -*-===//

#ifndef PIPEMESH_LOWER_CUDA_PASSES_TD
#define PIPEMESH_LOWER_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToGpu : Pass<"pm-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "write fused kernels as functions of the gpu dialect";
  let description = [{
    Before: functions that hold `pmrt.fused` ops, whatever level they are of.
    After: the same, and a `gpu.module @kernels` with a kernel for each distinct
    one. An op that has no code for GPUs is refused by name.

    A kernel's parameters are pointers to global memory: the op's operands, its
    results, the rank's mesh coordinates, and a scratch region. It says the number
    of blocks and threads that it is launched on.

    ```mlir
    %r = pmrt.fused (%x, %y) in_place [0] : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
    ^bb0(%a: tensor<4096xf32>, %b: tensor<4096xf32>):
      %0 = stablehlo.add %a, %b : tensor<4096xf32>
      pmrt.yield %0 : tensor<4096xf32>
    }
    ```

    becomes a vector of four elements for each thread:

    ```mlir
    gpu.func @kernel_4096_0(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %r: !llvm.ptr<1>, %coordinates: !llvm.ptr<1>, %scratch: !llvm.ptr<1>)
        kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 1, 1>} {
      ...
      %a = llvm.load %xi {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %b = llvm.load %yi {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %c = arith.addf %a, %b fastmath<contract> : vector<4xf32>
      llvm.store %c, %ri {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def AttentionInstructions
    : Pass<"pm-attention-instructions", "::mlir::ModuleOp"> {
  let summary = "leave attention to the GPU's library where it has it";
  let description = [{
    Before: a runtime program. After: calls of kernels of attention, and of its
    gradient, are `pmrt.attention` where cuDNN's fused engines have them: in bf16 or
    f16, with heads of a multiple of 8 and at most 128 elements, without a window.
    The type, the shape and the mask decide, so that a forward and its gradient are
    always both of one kind. Kernels that nothing calls any more are gone.

    With `all`, attention that stays a kernel is refused.

    ```mlir
    // before
    pmrt.call @attention_0 [#pmrt.place<read @q + 0 : 4096>, #pmrt.place<read @k + 0 : 4096>, #pmrt.place<read @v + 0 : 4096>, #pmrt.place<write @o + 0 : 4096>, #pmrt.place<write @lse + 0 : 256>]
    // after
    pmrt.attention [#pmrt.place<read @q + 0 : 4096>, #pmrt.place<read @k + 0 : 4096>, #pmrt.place<read @v + 0 : 4096>, #pmrt.place<write @o + 0 : 4096>, #pmrt.place<write @lse + 0 : 256>]
      batch 1 heads 2 of 2 queries 32 keys 32 size 32 scale 0.17677669 causal : bf16
    ```
  }];
  let dependentDialects = ["::pipemesh::pmrt::PMRTDialect"];
  let options = [Option<"all", "all", "bool", /*default=*/"false",
                        "refuse attention that the library does not have">];
}

#endif
