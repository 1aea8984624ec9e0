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
  levels.push_back({"sharded", "pm-apply-strategy{strategy=" + options.strategy +
                                   "},pm-propagate,pm-verify-sharded"});
  levels.push_back(
      {"fragments", "pm-assign-stages,pm-split-stages,pm-verify-fragments"});
  levels.push_back({"partitioned", "pm-partition,cse,pm-combine-collectives,"
                                   "pm-verify-partitioned"});
  levels.push_back({"scheduled", "pm-schedule{name=" + options.schedule +
                                     "},pm-verify-scheduled"});
  levels.push_back({"kernels", "func.func(pm-prepare-gemms),"
                               "pm-materialize-accumulation,"
                               "func.func(pm-fuse-kernels)"});
  levels.push_back({"runtime", "pm-lower-to-runtime"});
  return levels;
}
