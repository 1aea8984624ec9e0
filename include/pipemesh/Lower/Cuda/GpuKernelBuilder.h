//===- GpuKernelBuilder.h - fused kernels as GPU code -----------*- C++ -*-===//
//
// Turns `pmrt.fused` ops into functions of the gpu dialect, and those into text for
// NVIDIA's assembler. What is fused and how its loops lie is decided for all
// processors at one place (lib/Lower/Kernels); here each loop is spread over
// threads. A kernel's parameters are pointers to global memory: the op's operands,
// its results, the rank's mesh coordinates (int64, one an axis) and a scratch
// region of `scratchBytes`. A result that takes over an operand's buffer is given
// the same pointer. All buffers are aligned to 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LOWER_CUDA_GPUKERNELBUILDER_H
#define PIPEMESH_LOWER_CUDA_GPUKERNELBUILDER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Lower/Kernels/KernelSignature.h"
#include <map>
#include <string>

namespace pipemesh {

struct GpuKernelInfo {
  int64_t index = 0;
  /// The symbol of the function, unique and readable.
  std::string name;
  /// What it is launched on.
  int64_t blocks = 1, threads = 1;
  uint64_t scratchBytes = 0;
  uint64_t flops = 0;
  uint64_t bytes = 0;
};

class GpuKernelBuilder {
public:
  /// Puts a `gpu.module` with this name at the end of the module.
  GpuKernelBuilder(mlir::ModuleOp module, llvm::StringRef name = "kernels");

  /// The kernel of a fused op. Equal bodies get one kernel. On failure a
  /// diagnostic names the op that has no code.
  mlir::FailureOr<GpuKernelInfo> getOrCreate(pmrt::FusedOp op);

  /// All kernels so far, in the order of their index.
  llvm::ArrayRef<GpuKernelInfo> getKernels() const { return kernels; }

  mlir::gpu::GPUModuleOp getModule() { return module; }

private:
  mlir::gpu::GPUModuleOp module;
  llvm::SmallVector<GpuKernelInfo> kernels;
  std::map<KernelSignature, int64_t> indexOfKey;
};

} // namespace pipemesh

#endif // PIPEMESH_LOWER_CUDA_GPUKERNELBUILDER_H
