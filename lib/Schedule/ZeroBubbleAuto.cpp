//===- ZeroBubbleAuto.cpp - the best of many greedy schedules -------------===//

#include "Check.h"
#include "Generators.h"
#include "Letters.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;

namespace {
/// A grid over the policies, then random changes of the best.
class Search {
public:
  Search(const ZeroBubbleProblem &problem) : problem(problem) {
    // What fits the first and the last micro-batches of several rounds fits
    // those of many.
    sample = problem;
    sample.microBatches =
        std::min(problem.microBatches, roundsOfSample * 2 * problem.ranks);
  }

  Expected<Schedule> run();

private:
  static constexpr int64_t roundsOfSample = 3;
  static constexpr size_t mostKept = 6;
  /// Decisions of greedy schedulers, times ranks: a good part of a second.
  static constexpr double work = 4e7;

  struct Candidate {
    Score score;
    GreedyPolicy policy;
  };
  void tryPolicy(const GreedyPolicy &policy);
  void tryWords(const Words &words);
  void searchGrid();
  void searchRandomly();
  std::vector<double> getWarmUps() const;
  int64_t getMostInFlight(int64_t rank) const;

  const ZeroBubbleProblem &problem;
  ZeroBubbleProblem sample;
  /// The best policies on the sample, the best first.
  std::vector<Candidate> kept;
  Score best;
  Words bestWords;
};
} // namespace

void Search::tryPolicy(const GreedyPolicy &policy) {
  Score score = evaluate(sample, scheduleGreedily(sample, policy));
  if (score.longestSpan == never ||
      (kept.size() == mostKept && !(score < kept.back().score)))
    return;
  auto place = llvm::find_if(
      kept, [&](const Candidate &other) { return score < other.score; });
  kept.insert(place, {score, policy});
  if (kept.size() > mostKept)
    kept.pop_back();
}

void Search::tryWords(const Words &words) {
  Score score = evaluate(problem, words);
  if (!(score < best))
    return;
  best = score;
  bestWords = words;
}

/// How many forwards fit, as a fraction, between a rank's first F and the
/// earliest arrival of its first gradient.
std::vector<double> Search::getWarmUps() const {
  std::vector<double> warmUps(problem.ranks);
  double back = 0;
  for (int64_t r = problem.ranks; r-- > 0;) {
    const Costs &costs = problem.costs;
    // `back`: from the start of the first F of this rank to the arrival.
    back += costs[r].forward;
    if (r + 1 < problem.ranks)
      back += costs[r].transfer + costs[r + 1].input + costs[r + 1].transfer;
    double slowest = 0;
    for (int64_t q = 0; q <= r; ++q)
      slowest = std::max(slowest, costs[q].forward);
    warmUps[r] = slowest > 0 ? back / slowest : 1;
  }
  return warmUps;
}

void Search::searchGrid() {
  std::vector<double> warmUps = getWarmUps();
  // The first `split` ranks delay their first gradient by a forward, the others
  // leave a gap.
  for (int64_t split = 0; split <= problem.ranks; ++split)
    for (double fill : {0.2, 0.5, 0.75, 1.0})
      for (unsigned choice = 0; choice < 8; ++choice) {
        GreedyPolicy policy;
        policy.fill = fill;
        policy.runsAhead = choice & 1;
        policy.fillsWithForward = choice & 2;
        policy.sharesBubbles = choice & 4;
        for (int64_t r = 0; r < problem.ranks; ++r) {
          double warmUp = std::floor(warmUps[r] + slack) + (r < split ? 1 : 0);
          policy.warmUp.push_back(std::clamp<double>(
              warmUp, 1, static_cast<double>(problem.microBatches)));
        }
        tryPolicy(policy);
      }
}

void Search::searchRandomly() {
  if (kept.empty())
    return;
  double each = 3.0 * problem.ranks * sample.microBatches * problem.ranks;
  int64_t tries = std::clamp<int64_t>(work / each, 20, 2000);
  std::minstd_rand random(1);
  auto oneIn = [&](unsigned n) { return random() % n == 0; };
  for (int64_t i = 0; i < tries; ++i) {
    GreedyPolicy policy = kept.front().policy;
    for (bool more = true; more; more = oneIn(3)) {
      int32_t &warmUp = policy.warmUp[random() % problem.ranks];
      warmUp += oneIn(2) ? 1 : -1;
    }
    if (oneIn(8))
      policy.fill = random() % 101 / 100.0;
    if (oneIn(8))
      policy.runsAhead = !policy.runsAhead;
    if (oneIn(8))
      policy.fillsWithForward = !policy.fillsWithForward;
    if (oneIn(8))
      policy.sharesBubbles = !policy.sharesBubbles;
    for (int64_t r = 0; r < problem.ranks; ++r)
      policy.warmUp[r] =
          std::clamp<int32_t>(policy.warmUp[r], 1, problem.microBatches);
    tryPolicy(policy);
  }
}

/// Activations that the limit holds beside what one W keeps.
int64_t Search::getMostInFlight(int64_t rank) const {
  const StageCosts &cost = problem.costs[rank];
  double beside = problem.memoryLimit + slack - getLeastMemory(cost);
  if (cost.activation <= 0)
    return problem.microBatches;
  return 1 + static_cast<int64_t>(
                 std::min<double>(beside / cost.activation,
                                  static_cast<double>(problem.microBatches)));
}

Expected<Schedule> Search::run() {
  // 1F1B with each W behind its I, as far ahead as the memory lets it, is
  // always there; then ZB-H1 and ZB-H2, where they fit.
  Words plain(problem.ranks);
  int64_t most = problem.microBatches;
  for (int64_t r = 0; r < problem.ranks; ++r) {
    // No rank may be further ahead than the one before it.
    most = std::min({most, getMostInFlight(r)});
    int64_t warmUp = std::min(problem.ranks - r, most) - 1;
    plain[r].assign(warmUp, 'F');
    for (int64_t i = 0; i < problem.microBatches; ++i)
      plain[r] += warmUp + i < problem.microBatches ? "FIW" : "IW";
  }
  tryWords(plain);
  Shape shape{static_cast<int32_t>(problem.ranks), 1,
              static_cast<int32_t>(problem.microBatches)};
  for (auto *make : {makeZeroBubbleH1, makeZeroBubbleH2}) {
    Words words;
    for (int32_t r = 0; r < shape.ranks; ++r) {
      std::string &word = words.emplace_back();
      for (const Item &item : make(shape, r))
        word += getLetter(item.action.kind);
    }
    tryWords(words);
  }
  searchGrid();
  searchRandomly();
  for (const Candidate &candidate : kept)
    tryWords(scheduleGreedily(problem, candidate.policy));
  if (bestWords.empty())
    return fail("zb-auto: no schedule of {0} ranks and {1} micro-batches fits "
                "into a memory of {2}",
                problem.ranks, problem.microBatches,
                toText(problem.memoryLimit));
  Schedule schedule = toSchedule(bestWords, problem.microBatches);
  if (Error error = validate(schedule))
    return std::move(error);
  return schedule;
}

Expected<Schedule>
pipemesh::schedule::findZeroBubble(const ZeroBubbleProblem &problem) {
  if (Error error = checkProblem(problem))
    return std::move(error);
  return Search(problem).run();
}
