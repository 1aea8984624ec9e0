//===- Costs.h - what the actions of a schedule cost ------------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_COSTS_H
#define PIPEMESH_SCHEDULE_COSTS_H

#include "pipemesh/Schedule/Schedule.h"

namespace pipemesh::schedule {

/// Times of one stage, in any one unit, and what a micro-batch holds there.
struct StageCosts {
  double forward = 1;
  double input = 1;
  double weight = 1;
  /// Of B; the sum of I and W unless given.
  std::optional<double> backward;
  double update = 0;
  /// From the end of an action to the moment at which the stage before or after
  /// has its result, when that is on another rank.
  double transfer = 0;
  /// Memory from the start of F to the end of I (or B), and from there to the
  /// end of W.
  double activation = 1;
  double kept = 1;

  double getBackward() const { return backward.value_or(input + weight); }
  double getTime(ActionKind kind) const;
};

/// Of all stages: one entry that counts for each, or one for each.
class Costs {
public:
  Costs() : stages(1) {}
  explicit Costs(StageCosts all) : stages(1, all) {}
  explicit Costs(std::vector<StageCosts> stages) : stages(std::move(stages)) {}

  const StageCosts &operator[](size_t stage) const {
    return stages.size() == 1 ? stages.front() : stages[stage];
  }
  /// 1 when all stages cost the same.
  size_t size() const { return stages.size(); }
  std::vector<StageCosts> &get() { return stages; }

  /// Reads "F,I,W,transfer[,B[,U]]"; fewer numbers leave the rest as it is.
  llvm::Error parseTimes(llvm::StringRef text);
  /// Reads "ACTIVATION,W".
  llvm::Error parseMemory(llvm::StringRef text);
  /// Reads a table with a header row, a row a stage, in the order of the model:
  ///
  ///   stage,F,I,W,B,U,transfer,activation,kept
  ///   0,1.5,1.5,1,,0,0.1,1,0.4
  ///
  /// Columns may stand in any order and all but F may be missing; an empty B is
  /// I + W.
  static llvm::Expected<Costs> parseTable(llvm::StringRef text);

  /// Whether there is one entry, or one for each of the schedule's stages.
  llvm::Error checkStages(int64_t stages) const;

private:
  std::vector<StageCosts> stages;
};

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_COSTS_H
