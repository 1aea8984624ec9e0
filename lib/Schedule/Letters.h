//===- Letters.h - one stage a rank, as words of F, I and W -----*- C++ -*-===//
//
// What zb-auto searches over. Among equal micro-batches no order but the
// natural one gains anything, so a rank's list is a word: the n-th F is
// micro-batch n.
//
//===----------------------------------------------------------------------===//

#ifndef PIPEMESH_LIB_SCHEDULE_LETTERS_H
#define PIPEMESH_LIB_SCHEDULE_LETTERS_H

#include "pipemesh/Schedule/ZeroBubble.h"
#include <limits>
#include <tuple>

namespace pipemesh::schedule {

constexpr double never = std::numeric_limits<double>::infinity();
/// Times and memory that differ by less are equal.
constexpr double slack = 1e-9;

using Words = std::vector<std::string>;

/// How good words are; smaller is better.
struct Score {
  double longestSpan = never;
  double makespan = never;

  bool operator<(const Score &other) const {
    if (longestSpan < other.longestSpan - slack)
      return true;
    return longestSpan <= other.longestSpan + slack &&
           makespan < other.makespan - slack;
  }
};

Schedule toSchedule(const Words &words, int64_t microBatches);

/// Infinite where the ranks wait for each other or the memory is above the
/// limit.
Score evaluate(const ZeroBubbleProblem &problem, const Words &words);

/// The limit below which not even one micro-batch fits on the rank.
double getLeastMemory(const StageCosts &stage);
llvm::Error checkProblem(const ZeroBubbleProblem &problem);

/// The choices of the greedy scheduler.
struct GreedyPolicy {
  /// Forwards of each rank before its first I.
  std::vector<int32_t> warmUp;
  /// A gap is filled with a W when it is as long as this part of W.
  double fill = 1;
  /// A forward goes ahead although the next I would come before its end.
  bool runsAhead = false;
  /// The same where no W fits in the gap either.
  bool fillsWithForward = false;
  /// A gap too short for a W is filled with one when it would otherwise be the
  /// largest sum of gaps of all ranks.
  bool sharesBubbles = false;
};

/// Words made in the order of time: each rank takes what is there, F and I in
/// turn, and W in gaps or to free memory. They may be incomplete where the
/// policy leads nowhere.
Words scheduleGreedily(const ZeroBubbleProblem &problem,
                       const GreedyPolicy &policy);

} // namespace pipemesh::schedule

#endif // PIPEMESH_LIB_SCHEDULE_LETTERS_H
