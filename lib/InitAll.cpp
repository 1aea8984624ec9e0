// Registration of all dialects and passes, for tools.
#include "pipemesh/InitAll.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pipemesh/Dialect/CHLO/CHLO.h"
#include "pipemesh/Dialect/PM/PM.h"
#include "pipemesh/Dialect/PMRT/PMRT.h"
#include "pipemesh/Dialect/SDY/SDY.h"
#include "pipemesh/Dialect/StableHLO/StableHLO.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Lower/Cuda/Passes.h"
#include "pipemesh/Lower/Kernels/Passes.h"
#include "pipemesh/Differentiate/Differentiate.h"
#include "pipemesh/Differentiate/Passes.h"
#include "pipemesh/Import/Passes.h"
#include "pipemesh/Lower/Cuda/Passes.h"
#include "pipemesh/Lower/Kernels/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Precision/Passes.h"
#include "pipemesh/Shard/Models.h"
#include "pipemesh/Shard/Passes.h"

void pipemesh::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, stablehlo::StableHLODialect,
                  chlo::CHLODialect, pm::PMDialect, pmrt::PMRTDialect,
                  sdy::SDYDialect>();
  registerDifferentiationModels(registry);
  registerShardingRules(registry);
  registerCostModels(registry);
}

void pipemesh::registerAllPasses() {
  mlir::registerTransformsPasses();
  registerLowerPasses();
  registerLowerKernelsPasses();
  registerLowerCudaPasses();
  registerLowerPipelines();
  registerDifferentiatePasses();
  registerPipemeshImportPasses();
  registerPipemeshPipelinePasses();
  registerPipelinePipelines();
  registerPipemeshPrecisionPasses();
  registerPipemeshShardPasses();
  registerShardPipelines();
}
