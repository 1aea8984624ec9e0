//===- Pipelines.cpp - the named pipelines of this phase ------------------===//

#include "pipemesh/Lower/Kernels/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace pipemesh;

void pipemesh::buildKernelPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createPrepareLoops());
  manager.addNestedPass<func::FuncOp>(createPrepareGemms());
  manager.addPass(createMaterializeAccumulation());
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
  PassPipelineRegistration<>(
      "pm-kernel-pipeline",
      "From a scheduled program to fragments of kernels and matrix products",
      buildKernelPipeline);
  PassPipelineRegistration<>(
      "pm-runtime-pipeline", "From kernels to the runtime program",
      [](OpPassManager &manager) { buildRuntimePipeline(manager); });
}
