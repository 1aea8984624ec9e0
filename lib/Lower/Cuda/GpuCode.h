//===- GpuCode.h - building the function of a GPU's kernel ------*- C++ -*-===//

#ifndef PIPEMESH_LIB_LOWER_CUDA_GPUCODE_H
#define PIPEMESH_LIB_LOWER_CUDA_GPUCODE_H

#include "../Kernels/KernelCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace pipemesh {

/// Threads of a warp.
constexpr int64_t kWarp = 32;
/// Threads of a block where nothing else is asked for.
constexpr int64_t kBlockThreads = 128;
/// Bytes that a thread reads or writes at once.
constexpr int64_t kAccessBytes = 16;

/// A `gpu.func` under construction. Its parameters are the buffers of the fused
/// op's operands and results, the rank's coordinates and the scratch region, all
/// in global memory; it is launched on `blocks` blocks of `threads` threads.
class GpuCode : public KernelCode {
public:
  GpuCode(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
          pmrt::FusedOp op);

  int64_t threads = kBlockThreads, blocks = 1;

  /// The number of the thread in its block, and of the block.
  mlir::Value thread() { return threadId; }
  mlir::Value block() { return blockId; }
  /// The number of the thread among all blocks'.
  mlir::Value globalThread() {
    return add(mul(blockId, threads), threadId);
  }

  /// All threads of the block come here; what they wrote is seen behind it.
  void barrier();
  /// The same for the threads of a warp.
  void warpBarrier();
  /// The value of the thread of the warp whose number differs in this bit. All
  /// threads of the warp must come here.
  mlir::Value exchange(mlir::Value value, int64_t distance);
  /// Memory of a block.
  mlir::Value shared(mlir::Type element, int64_t count);

  /// Iteration `globalThread()` is this thread's, if there is one.
  void beginIterations() override;
  mlir::Value loadCoordinate(int64_t axis) override;
  /// `scratchBytes` are those of one iteration.
  void finishKernel(const KernelInfo &info);

  mlir::gpu::GPUFuncOp getFunction() { return gpuFunction; }

  mlir::Value addf(mlir::Value a, mlir::Value b);
  mlir::Value subf(mlir::Value a, mlir::Value b);
  mlir::Value mulf(mlir::Value a, mlir::Value b);
  /// a * b + c, rounded once.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value exp(mlir::Value a);
  mlir::Value lane(mlir::Value vector, int64_t number);

protected:
  unsigned getTableSpace() const override { return 1; }

private:
  mlir::gpu::GPUModuleOp gpuModule;
  mlir::gpu::GPUFuncOp gpuFunction;
  mlir::Value threadId, blockId, coordinates;
  unsigned numShared = 0;
  /// Constants that are known when the kernel is whole.
  mlir::arith::ConstantOp extent, blockThreads, scratchStride;
};

/// The loops of a GPU. The code is a GpuCode.
mlir::LogicalResult emitGpuRowKernel(KernelCode &code, const KernelBody &body,
                                     const KernelPlan &plan, KernelInfo &info);
mlir::LogicalResult emitGpuAttentionKernel(KernelCode &code,
                                           mlir::Operation *op,
                                           KernelInfo &info);
mlir::LogicalResult emitGpuEmbeddingKernel(KernelCode &code,
                                           mlir::Operation *op,
                                           KernelInfo &info);

} // namespace pipemesh

#endif // PIPEMESH_LIB_LOWER_CUDA_GPUCODE_H
