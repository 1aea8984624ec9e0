//===- Levels.cpp ---------------------------------------------------------===//

#include "Levels.h"
#include "pipemesh/Differentiate/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Shard/Passes.h"
#include "pipemesh/Support/Cluster.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace pipemesh;
using mlir::OpPassManager;

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
                      buildShardPipeline(manager, options.strategy);
                    }});
  levels.push_back({"fragments", buildFragmentPipeline});
  levels.push_back({"partitioned", [&options](OpPassManager &manager) {
                      buildPartitionPipeline(
                          manager,
                          suggestBucketBytes(options.cluster.getOutermost().link));
                    }});
  levels.push_back({"scheduled", [&options](OpPassManager &manager) {
                      buildSchedulePipeline(manager, options.schedule);
                    }});
  levels.push_back({"kernels", buildKernelPipeline});
  levels.push_back({"runtime", buildRuntimePipeline});
  return levels;
}
