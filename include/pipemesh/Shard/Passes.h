//===- Passes.h - sharding and partitioning ---------------------*- C++ -*-===//

#ifndef PIPEMESH_SHARD_PASSES_H
#define PIPEMESH_SHARD_PASSES_H

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace pipemesh {

#define GEN_PASS_DECL
#include "pipemesh/Shard/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pipemesh/Shard/Passes.h.inc"

/// From a model or differentiated graph to a sharded one: the strategy's mesh
/// and annotations, propagation, and the verifier of the level.
void buildShardPipeline(mlir::OpPassManager &manager, llvm::StringRef strategy);

/// From fragments with global shapes to SPMD fragments: local shapes and
/// collectives, in buckets of at most `bucketBytes`.
void buildPartitionPipeline(mlir::OpPassManager &manager, int64_t bucketBytes);

/// Registers `pm-shard-pipeline` and `pm-partition-pipeline`.
void registerShardPipelines();

} // namespace pipemesh

#endif // PIPEMESH_SHARD_PASSES_H
