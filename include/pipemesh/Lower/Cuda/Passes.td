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

#endif
