//===- Pipelines.cpp - the named pipelines of this phase ------------------===//

#include "pipemesh/Lower/Kernels/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace pipemesh;

void pipemesh::buildKernelPipeline(OpPassManager &manager, Backend backend) {
  manager.addNestedPass<func::FuncOp>(createPrepareLoops());
  PrepareGemmsOptions products;
  products.halfPrecision = backend == Backend::Cuda;
  manager.addNestedPass<func::FuncOp>(createPrepareGemms(products));
  manager.addPass(createMaterializeAccumulation());
  if (backend == Backend::Cuda)
    manager.addNestedPass<func::FuncOp>(createFuseEpilogues());
  manager.addNestedPass<func::FuncOp>(createFuseKernels());
  manager.addPass(createVerifyKernels());
}

void pipemesh::buildRuntimePipeline(OpPassManager &manager,
                                    std::optional<int64_t> bucketBytes) {
  manager.addPass(createLowerToRuntime());
  OverlapCollectivesOptions options;
  if (bucketBytes)
    options.bucketBytes = *bucketBytes;
  manager.addPass(createOverlapCollectives(options));
  manager.addPass(createVerifyRuntime());
}

void pipemesh::registerLowerPipelines() {
  struct KernelOptions : PassPipelineOptions<KernelOptions> {
    Option<Backend> backend{
        *this, "backend", llvm::cl::desc("what runs the program"),
        llvm::cl::init(Backend::Host),
        llvm::cl::values(
            clEnumValN(Backend::Host, "host", "processors of machines"),
            clEnumValN(Backend::Cuda, "cuda", "NVIDIA's GPUs"))};
  };
  PassPipelineRegistration<KernelOptions>(
      "pm-kernel-pipeline",
      "From a scheduled program to fragments of kernels and matrix products",
      [](OpPassManager &manager, const KernelOptions &options) {
        buildKernelPipeline(manager, options.backend);
      });
  PassPipelineRegistration<>(
      "pm-runtime-pipeline", "From kernels to the runtime program",
      [](OpPassManager &manager) { buildRuntimePipeline(manager); });
}
