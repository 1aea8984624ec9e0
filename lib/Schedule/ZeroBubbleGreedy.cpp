//===- ZeroBubbleGreedy.cpp - words made in the order of time -------------===//
//
// The heuristic of Qi et al. 2023 (arXiv 2401.10241, section 3.1): forwards
// while the first gradient is on its way, then F and I in turn, W in gaps or to
// free memory. There a rank is scheduled micro-batch by micro-batch; here all
// ranks are scheduled together in the order of time, so that what arrives when
// is known.
//
//===----------------------------------------------------------------------===//

#include "Letters.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace pipemesh::schedule;

namespace {
class Greedy {
public:
  Greedy(const ZeroBubbleProblem &problem, const GreedyPolicy &policy)
      : problem(problem), policy(policy), count(problem.microBatches),
        forwardEnds(problem.ranks * count, never),
        inputEnds(problem.ranks * count, never), ranks(problem.ranks),
        decisions(problem.ranks), words(problem.ranks) {
    for (std::string &word : words)
      word.reserve(3 * count);
  }

  Words run();

private:
  struct Rank {
    /// The time of its decision; the end of its last action.
    double now = 0, free = 0;
    double memory = 0, bubble = 0;
    int32_t forwards = 0, inputs = 0, weights = 0;
    char last = 'I';
  };
  /// An action now, or a time at which to decide again.
  struct Decision {
    char letter = 0;
    double until = never;
  };

  Decision decide(int64_t r);
  Decision decideSteady(int64_t r, double forwardAt, double inputAt);
  void execute(int64_t r, char letter);
  void wake(int64_t r, double now) {
    if (decisions[r] == never && ranks[r].weights < count)
      decisions[r] = std::max(ranks[r].now, now);
  }
  /// When the next F or I can start; never where that is not known yet.
  double getForwardTime(int64_t r) const {
    const Rank &rank = ranks[r];
    if (rank.forwards == count)
      return never;
    return r == 0 ? 0
                  : forwardEnds[(r - 1) * count + rank.forwards] +
                        problem.costs[r - 1].transfer;
  }
  double getInputTime(int64_t r) const {
    const Rank &rank = ranks[r];
    if (rank.inputs == rank.forwards)
      return never;
    return r + 1 == problem.ranks ? rank.free
                                  : inputEnds[(r + 1) * count + rank.inputs] +
                                        problem.costs[r + 1].transfer;
  }
  bool hasRoom(int64_t r) const {
    return ranks[r].memory + problem.costs[r].activation <=
           problem.memoryLimit + slack;
  }

  const ZeroBubbleProblem &problem;
  const GreedyPolicy &policy;
  int64_t count;
  std::vector<double> forwardEnds, inputEnds;
  std::vector<Rank> ranks;
  /// When each rank decides next; never once it has done all, or until a
  /// neighbour starts what it waits for.
  std::vector<double> decisions;
  double largestBubble = 0;
  Words words;
};
} // namespace

Greedy::Decision Greedy::decide(int64_t r) {
  const Rank &rank = ranks[r];
  if (rank.inputs == count)
    return {'W'};
  double forwardAt = getForwardTime(r), inputAt = getInputTime(r);
  if (rank.inputs > 0)
    return decideSteady(r, forwardAt, inputAt);
  // Before the first I.
  bool wantsForward = rank.forwards < policy.warmUp[r] && hasRoom(r);
  double at = wantsForward ? forwardAt : inputAt;
  if (at <= rank.now + slack)
    return {wantsForward ? 'F' : 'I'};
  return {0, at};
}

Greedy::Decision Greedy::decideSteady(int64_t r, double forwardAt,
                                      double inputAt) {
  const Rank &rank = ranks[r];
  const StageCosts &cost = problem.costs[r];
  bool isForwardThere = forwardAt <= rank.now + slack;
  bool hasForward = isForwardThere && hasRoom(r);
  bool hasWeight = rank.weights < rank.inputs;
  if (inputAt <= rank.now + slack) {
    // A W that keeps more than the activations did must go first.
    if (rank.memory + cost.kept - cost.activation > problem.memoryLimit + slack)
      return {hasWeight ? 'W' : 'I'};
    return {hasForward && rank.last == 'I' ? 'F' : 'I'};
  }
  // What has not been started by a neighbour takes at least its time.
  double earliestInput =
      inputAt < never || rank.inputs == rank.forwards || r + 1 == problem.ranks
          ? inputAt
          : rank.now + problem.costs[r + 1].input +
                problem.costs[r + 1].transfer;
  if (hasForward) {
    double gap = earliestInput - rank.now;
    if (rank.last == 'I' || gap >= cost.forward - slack || policy.runsAhead)
      return {'F'};
    if (hasWeight && gap >= policy.fill * cost.weight - slack)
      return {'W'};
    if (policy.fillsWithForward)
      return {'F'};
    return {0, inputAt};
  }
  if (hasWeight) {
    double earliestForward = never;
    if (hasRoom(r) && rank.forwards < count)
      earliestForward = forwardAt < never
                            ? forwardAt
                            : rank.now + problem.costs[r - 1].forward +
                                  problem.costs[r - 1].transfer;
    double next = std::min(earliestInput, earliestForward);
    bool needsRoom = isForwardThere && !hasRoom(r);
    if (needsRoom || next - rank.now >= policy.fill * cost.weight - slack ||
        (policy.sharesBubbles &&
         rank.bubble + next - rank.free > largestBubble + slack))
      return {'W'};
  }
  return {0, std::min(inputAt, hasRoom(r) ? forwardAt : never)};
}

void Greedy::execute(int64_t r, char letter) {
  Rank &rank = ranks[r];
  const StageCosts &cost = problem.costs[r];
  double now = rank.now;
  if (!words[r].empty()) {
    rank.bubble += now - rank.free;
    largestBubble = std::max(largestBubble, rank.bubble);
  }
  words[r] += letter;
  if (letter == 'F') {
    rank.now += cost.forward;
    rank.memory += cost.activation;
    forwardEnds[r * count + rank.forwards++] = rank.now;
    if (r + 1 < problem.ranks)
      wake(r + 1, now);
  } else if (letter == 'I') {
    rank.now += cost.input;
    rank.memory += cost.kept - cost.activation;
    inputEnds[r * count + rank.inputs++] = rank.now;
    if (r > 0)
      wake(r - 1, now);
  } else {
    rank.now += cost.weight;
    rank.memory -= cost.kept;
    ++rank.weights;
  }
  if (letter != 'W')
    rank.last = letter;
  rank.free = rank.now;
}

Words Greedy::run() {
  while (true) {
    int64_t first = llvm::min_element(decisions) - decisions.begin();
    if (decisions[first] == never)
      return std::move(words);
    Rank &rank = ranks[first];
    rank.now = decisions[first];
    Decision decision = decide(first);
    if (decision.letter) {
      execute(first, decision.letter);
      decisions[first] = rank.weights < count ? rank.now : never;
    } else {
      decisions[first] =
          decision.until == never ? never : std::max(rank.now, decision.until);
    }
  }
}

Words pipemesh::schedule::scheduleGreedily(const ZeroBubbleProblem &problem,
                                           const GreedyPolicy &policy) {
  return Greedy(problem, policy).run();
}
