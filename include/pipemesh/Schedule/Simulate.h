//===- Simulate.h - runs action lists on costs ------------------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_SIMULATE_H
#define PIPEMESH_SCHEDULE_SIMULATE_H

#include "pipemesh/Schedule/Costs.h"

namespace pipemesh::schedule {

struct Interval {
  double start = 0;
  double end = 0;
};

/// What happened when, and what was held.
struct Timeline {
  /// Of each item of each rank's list.
  std::vector<std::vector<Interval>> items;
  /// The end of the last action; the first starts at 0.
  double makespan = 0;
  /// Of each rank: the last end minus the first start, and the sum of the
  /// actions' times.
  std::vector<double> span;
  std::vector<double> busy;
  /// The idle share of the longest span.
  double bubble = 0;
  /// Of each rank, the most micro-batch chunks that were between F and the end
  /// of W, or of I.
  std::vector<int64_t> peakUntilWeightGradient;
  std::vector<int64_t> peakUntilInputGradient;
  /// Of each rank, the most memory by `StageCosts::activation` and `kept`.
  std::vector<double> peakMemory;

  double getLongestSpan() const;
};

/// Each rank runs its list from the first item on, each as soon as the rank is
/// free and what it needs has arrived. A transfer starts at the end of its
/// producer and keeps nobody busy. Fails where ranks wait for each other, or
/// for an action that no rank runs, with a message that names the circle.
llvm::Expected<Timeline> simulate(const Schedule &schedule,
                                  const Costs &costs = Costs());

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_SIMULATE_H
