//===- Balance.h - which layers a stage gets --------------------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_BALANCE_H
#define PIPEMESH_SCHEDULE_BALANCE_H

#include "pipemesh/Schedule/Costs.h"

namespace pipemesh::schedule {

/// Layers to divide over the stages of a schedule.
struct BalanceProblem {
  /// The lists that will run.
  Schedule schedule;
  /// Of each layer, in the order of the model; what stands in front of the
  /// first and behind the last is in theirs. `transfer` is that of a boundary
  /// behind the layer.
  std::vector<StageCosts> layers;
  /// Of each layer, memory that is there all the time, in the unit of
  /// `StageCosts::activation`.
  std::vector<double> state;
  /// For each rank, in that unit; none where memory is no limit.
  std::optional<double> memoryLimit;
};

/// How a division runs.
struct Division {
  /// Of each stage, at least 1.
  std::vector<int64_t> layers;
  double makespan = 0;
  /// The most memory of a rank.
  double memory = 0;
};

/// Layers in equal numbers; the last stages have what is left over.
std::vector<int64_t> divideEqually(int64_t layers, int64_t stages);

/// The sums of the layers of each stage.
Costs getStageCosts(const BalanceProblem &problem,
                    llvm::ArrayRef<int64_t> layers);

/// Simulates a division.
llvm::Expected<Division> evaluate(const BalanceProblem &problem,
                                  llvm::ArrayRef<int64_t> layers);

/// The division with the shortest makespan among those that keep the limit, or
/// the one that is least above it. Small problems are searched completely;
/// others from the equal division and the ones whose largest stage is smallest,
/// by moving a layer from one stage to another as long as that helps. Of
/// equally good ones the most even, so equal layers stay where nothing is
/// better. There must be a layer for each stage.
llvm::Expected<Division> balance(const BalanceProblem &problem);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_BALANCE_H
