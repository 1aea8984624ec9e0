//===- ZeroBubble.h - schedules fitted to costs and memory ------*- C++ -*-===//

#ifndef PIPEMESH_SCHEDULE_ZEROBUBBLE_H
#define PIPEMESH_SCHEDULE_ZEROBUBBLE_H

#include "pipemesh/Schedule/Generate.h"

namespace pipemesh::schedule {

/// One stage a rank, F, I and W apart, the memory of each rank below a limit.
struct ZeroBubbleProblem {
  int64_t ranks = 1;
  int64_t microBatches = 1;
  Costs costs;
  double memoryLimit = 0;
};

/// What a request for zb-auto asks.
ZeroBubbleProblem getProblem(const Request &request);

/// The heuristic of Qi et al. 2023 (arXiv 2401.10241), section 3.1, over a grid
/// of its choices, with ZB-H1 and ZB-H2 where they fit; the schedule with the
/// shortest longest span, then makespan, counts. Fails when the limit holds not
/// even one micro-batch.
llvm::Expected<Schedule> findZeroBubble(const ZeroBubbleProblem &problem);

/// The result of a search.
struct ExactResult {
  Schedule schedule;
  double longestSpan = 0;
  /// Whether the search ended, so that no schedule has a shorter longest span.
  bool isOptimal = false;
  int64_t visited = 0;
};

/// Branch and bound over all orders in which each kind keeps the order of its
/// micro-batches (among equal micro-batches another order gains nothing), each
/// action as early as its place allows. For small cases; stops after `nodes`.
llvm::Expected<ExactResult> searchZeroBubble(const ZeroBubbleProblem &problem,
                                             int64_t nodes = 20'000'000);

} // namespace pipemesh::schedule

#endif // PIPEMESH_SCHEDULE_ZEROBUBBLE_H
