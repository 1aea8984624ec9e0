//===- Levels.cpp ---------------------------------------------------------===//

#include "Levels.h"
#include "pipemesh/Differentiate/Passes.h"
#include "pipemesh/Lower/Passes.h"
#include "pipemesh/Pipeline/Passes.h"
#include "pipemesh/Shard/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace pipemesh;
using mlir::OpPassManager;

/// The largest all-reduce that is made of several: long enough that its latency
/// does not count, short enough to stay in a cache.
static constexpr int64_t kBucketBytes = 32 << 20;

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
  levels.push_back({"partitioned", [](OpPassManager &manager) {
                      buildPartitionPipeline(manager, kBucketBytes);
                    }});
  levels.push_back({"scheduled", [&options](OpPassManager &manager) {
                      buildSchedulePipeline(manager, options.schedule);
                    }});
  levels.push_back({"kernels", buildKernelPipeline});
  levels.push_back({"runtime", buildRuntimePipeline});
  return levels;
}
