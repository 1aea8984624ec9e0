//===- Levels.cpp ---------------------------------------------------------===//

#include "Levels.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace pipemesh;

SmallVector<Level> pipemesh::getLevels(bool train, const Recipe &recipe,
                                       const StrategyOptions &options) {
  SmallVector<Level> levels;
  levels.push_back({"model", ""});
  if (train) {
    std::string passes = "pm-differentiate{optimizer=" + recipe.optimizer +
                         " decay=" + recipe.decay +
                         " clip=" + (recipe.clips ? "true" : "false");
    if (!recipe.trainable.empty())
      passes += " trainable=" + join(recipe.trainable, ",");
    levels.push_back({"differentiated", passes + "},pm-verify-differentiated"});
  }
  levels.push_back(
      {"sharded", "pm-shard-pipeline{strategy=" + options.strategy + "}"});
  levels.push_back({"fragments", "pm-fragment-pipeline"});
  levels.push_back({"partitioned", "pm-partition-pipeline"});
  levels.push_back(
      {"scheduled", "pm-schedule-pipeline{name=" + options.schedule + "}"});
  levels.push_back({"kernels", "pm-kernel-pipeline"});
  levels.push_back({"runtime", "pm-runtime-pipeline"});
  return levels;
}
