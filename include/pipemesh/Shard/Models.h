//===- Models.h - sharding rules and costs of every op ----------*- C++ -*-===//

#ifndef PIPEMESH_SHARD_MODELS_H
#define PIPEMESH_SHARD_MODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pipemesh {

/// Attaches ShardingRuleOpInterface to the ops of stablehlo, chlo and pm.
void registerShardingRules(mlir::DialectRegistry &registry);

/// Attaches CostOpInterface to the ops whose cost is not that of reading the
/// operands and writing the results once.
void registerCostModels(mlir::DialectRegistry &registry);

} // namespace pipemesh

#endif // PIPEMESH_SHARD_MODELS_H
