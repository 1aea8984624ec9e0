//===- Levels.cpp ---------------------------------------------------------===//

#include "Levels.h"
#include "mlir/Pass/PassManager.h"
#include "pipemesh/Differentiate/Passes.h"
#include "pipemesh/Lower/Cuda/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Precision/Passes.h"
#include "pipemesh/Shard/Passes.h"
#include "pipemesh/Support/Cluster.h"

using namespace llvm;
using namespace pipemesh;
using mlir::OpPassManager;

/// What follows the fragments, whatever they come from.
static void addLowerLevels(SmallVector<Level> &levels,
                           const StrategyOptions &options) {
  levels.push_back({"partitioned", [&options](OpPassManager &manager) {
                      buildPartitionPipeline(manager, options.getBucketBytes());
                    }});
  levels.push_back({"scheduled", [&options](OpPassManager &manager) {
                      buildSchedulePipeline(manager, options.schedule);
                    }});
  levels.push_back({"kernels", [&options](OpPassManager &manager) {
                      buildKernelPipeline(manager, options.backend);
                    }});
  levels.push_back({"runtime", [&options](OpPassManager &manager) {
                      buildRuntimePipeline(manager, options.getBucketBytes());
                      if (options.attention == StrategyOptions::Attention::Own)
                        return;
                      AttentionInstructionsOptions attention;
                      attention.all = options.attention ==
                                      StrategyOptions::Attention::Cudnn;
                      manager.addPass(createAttentionInstructions(attention));
                      manager.addPass(createVerifyRuntime());
                    }});
}

SmallVector<Level>
pipemesh::getFunctionLevels(const StrategyOptions &options) {
  SmallVector<Level> levels;
  levels.push_back({"model", [](OpPassManager &) {}});
  levels.push_back({"sharded", [](OpPassManager &manager) {
                      manager.addPass(createPropagatePass());
                      manager.addPass(createVerifyShardedPass());
                    }});
  levels.push_back({"fragments", buildFunctionPipeline});
  addLowerLevels(levels, options);
  return levels;
}

SmallVector<Level> pipemesh::getLevels(bool train, const Recipe &recipe,
                                       const StrategyOptions &options) {
  SmallVector<Level> levels;
  levels.push_back({"model", [](OpPassManager &) {}});
  if (train)
    levels.push_back({"differentiated", [&recipe](OpPassManager &manager) {
                        DifferentiateOptions differentiate;
                        differentiate.optimizer = recipe.optimizer;
                        differentiate.decay = recipe.decay;
                        differentiate.clip = recipe.clips;
                        differentiate.trainable.append(
                            recipe.trainable.begin(), recipe.trainable.end());
                        manager.addPass(createDifferentiate(differentiate));
                        manager.addPass(createVerifyDifferentiated());
                      }});
  levels.push_back({"sharded", [&options](OpPassManager &manager) {
                      if (options.hasHalfProducts)
                        manager.addPass(createLowerMatmulPrecision());
                      buildShardPipeline(manager, options.strategy);
                    }});
  levels.push_back({"fragments", buildFragmentPipeline});
  addLowerLevels(levels, options);
  return levels;
}
