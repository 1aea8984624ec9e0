//===- Pipelines.cpp - the named pipelines of this phase ------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "pipemesh/Shard/Passes.h"

using namespace mlir;
using namespace pipemesh;

void pipemesh::buildShardPipeline(OpPassManager &manager,
                                  llvm::StringRef strategy) {
  ApplyStrategyPassOptions options;
  options.strategy = strategy.str();
  manager.addPass(createApplyStrategyPass(options));
  manager.addPass(createPropagatePass());
  manager.addPass(createVerifyShardedPass());
}

void pipemesh::buildPartitionPipeline(OpPassManager &manager,
                                      int64_t bucketBytes) {
  CombineCollectivesPassOptions options;
  options.bucketBytes = bucketBytes;
  manager.addPass(createPartitionPass());
  manager.addPass(createCombineCollectivesPass(options));
  manager.addPass(createVerifyPartitionedPass());
}

namespace {
struct ShardOptions : PassPipelineOptions<ShardOptions> {
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("such as dp=2,mb=4"),
                               llvm::cl::init("")};
};
struct PartitionOptions : PassPipelineOptions<PartitionOptions> {
  Option<int64_t> bucketBytes{*this, "bucket-bytes",
                              llvm::cl::desc("largest bucket in bytes"),
                              llvm::cl::init(33554432)};
};
} // namespace

void pipemesh::registerShardPipelines() {
  PassPipelineRegistration<ShardOptions>(
      "pm-shard-pipeline",
      "From a model or differentiated graph to a sharded one",
      [](OpPassManager &manager, const ShardOptions &options) {
        buildShardPipeline(manager, options.strategy);
      });
  PassPipelineRegistration<PartitionOptions>(
      "pm-partition-pipeline", "From fragments to SPMD fragments",
      [](OpPassManager &manager, const PartitionOptions &options) {
        buildPartitionPipeline(manager, options.bucketBytes);
      });
}
