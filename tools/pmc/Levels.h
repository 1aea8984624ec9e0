//===- Levels.h - the levels between a model and a bundle -------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_LEVELS_H
#define PIPEMESH_TOOLS_PMC_LEVELS_H

#include "Recipe.h"
#include "pipemesh/Lower/Backend.h"
#include "pipemesh/Support/Cluster.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
}

namespace pipemesh {

/// One level of the compiler: its name, and what adds the passes that lead to it
/// from the level before.
struct Level {
  std::string name;
  std::function<void(mlir::OpPassManager &)> addPasses;
};

struct StrategyOptions {
  std::string strategy;
  /// Empty for the one that the strategy names.
  std::string schedule;
  Cluster cluster = Cluster::getHost();
  Backend backend = Backend::Host;
  /// Whether products and attention are made of bf16.
  bool hasHalfProducts = false;
  /// Of collectives that are summed at once; the outermost link's where it is
  /// not given.
  std::optional<int64_t> bucketBytes;
  /// What makes attention on GPUs: kernels of our own, cuDNN where it has it,
  /// or cuDNN always.
  enum class Attention { Own, Auto, Cudnn } attention = Attention::Own;

  int64_t getBucketBytes() const {
    return bucketBytes ? *bucketBytes
                       : suggestBucketBytes(cluster.getOutermost().link);
  }
};

/// The levels of a whole function in order, from "model" (no passes) to
/// "runtime"; the reference must outlive what is returned.
llvm::SmallVector<Level> getFunctionLevels(const StrategyOptions &options);

/// The levels of a task in order, from "model" (no passes) to "runtime". Both
/// references must outlive what is returned.
llvm::SmallVector<Level> getLevels(bool train, const Recipe &recipe,
                                   const StrategyOptions &options);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_LEVELS_H
