//===- KernelsToGpu.cpp - pm-kernels-to-gpu -------------------------------===//

#include "pipemesh/Lower/Cuda/GpuKernelBuilder.h"
#include "pipemesh/Lower/Cuda/Passes.h"

namespace pipemesh {
#define GEN_PASS_DEF_KERNELSTOGPU
#include "pipemesh/Lower/Cuda/Passes.h.inc"
} // namespace pipemesh

using namespace mlir;
using namespace pipemesh;

namespace {
struct KernelsToGpu : pipemesh::impl::KernelsToGpuBase<KernelsToGpu> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    GpuKernelBuilder builder(module);
    WalkResult result = module.walk([&](pmrt::FusedOp op) {
      return failed(builder.getOrCreate(op)) ? WalkResult::interrupt()
                                             : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
