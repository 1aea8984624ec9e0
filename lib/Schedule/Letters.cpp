//===- Letters.cpp --------------------------------------------------------===//

#include "Letters.h"
#include "Check.h"
#include <algorithm>

using namespace pipemesh::schedule;
using llvm::Error;

Schedule pipemesh::schedule::toSchedule(const Words &words,
                                        int64_t microBatches) {
  Schedule schedule;
  schedule.name = "zb-auto";
  schedule.microBatches = microBatches;
  schedule.rankOfStage = placeStages(Placement::Loop, words.size(), 1);
  for (size_t rank = 0; rank < words.size(); ++rank) {
    ActionList &list = schedule.lists.emplace_back();
    list.reserve(words[rank].size());
    int32_t forwards = 0, inputs = 0, weights = 0;
    for (char letter : words[rank]) {
      ActionKind kind = letter == 'F'   ? ActionKind::Forward
                        : letter == 'I' ? ActionKind::BackwardInput
                                        : ActionKind::BackwardWeight;
      int32_t &count = letter == 'F'   ? forwards
                       : letter == 'I' ? inputs
                                       : weights;
      list.push_back(Action{kind, static_cast<int32_t>(rank), count++});
    }
  }
  return schedule;
}

namespace {
/// The simulator's rules on words.
struct WordRun {
  WordRun(const ZeroBubbleProblem &problem, const Words &words)
      : problem(problem), words(words), count(problem.microBatches),
        forwardEnds(problem.ranks * count, never),
        inputEnds(problem.ranks * count, never), ranks(problem.ranks) {}

  struct Rank {
    size_t next = 0;
    int32_t forwards = 0, inputs = 0;
    double start = 0, free = 0, memory = 0;
  };

  /// Whether the rank came further; its memory stays below the limit.
  bool advance(int64_t r) {
    Rank &rank = ranks[r];
    const StageCosts &cost = problem.costs[r];
    size_t begin = rank.next;
    for (; rank.next < words[r].size(); ++rank.next) {
      char letter = words[r][rank.next];
      double ready = rank.free, time = cost.weight;
      if (letter == 'F') {
        if (r > 0)
          ready = std::max(ready, forwardEnds[(r - 1) * count + rank.forwards] +
                                      problem.costs[r - 1].transfer);
        time = cost.forward;
        rank.memory += cost.activation;
      } else if (letter == 'I') {
        if (r + 1 < problem.ranks)
          ready = std::max(ready, inputEnds[(r + 1) * count + rank.inputs] +
                                      problem.costs[r + 1].transfer);
        time = cost.input;
        rank.memory += cost.kept - cost.activation;
      }
      if (ready == never) {
        rank.memory -=
            letter == 'F' ? cost.activation : cost.kept - cost.activation;
        break;
      }
      if (rank.memory > problem.memoryLimit + slack) {
        isOver = true;
        return false;
      }
      if (rank.next == 0)
        rank.start = ready;
      rank.free = ready + time;
      if (letter == 'F')
        forwardEnds[r * count + rank.forwards++] = rank.free;
      else if (letter == 'I')
        inputEnds[r * count + rank.inputs++] = rank.free;
      else
        rank.memory -= cost.kept;
    }
    return rank.next != begin;
  }

  const ZeroBubbleProblem &problem;
  const Words &words;
  int64_t count;
  std::vector<double> forwardEnds, inputEnds;
  std::vector<Rank> ranks;
  bool isOver = false;
};
} // namespace

Score pipemesh::schedule::evaluate(const ZeroBubbleProblem &problem,
                                   const Words &words) {
  for (const std::string &word : words)
    if (int64_t(word.size()) != 3 * problem.microBatches)
      return {};
  WordRun run(problem, words);
  // Forwards go down the ranks and gradients up, so passes go both ways.
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (int64_t i = 0; i < 2 * problem.ranks; ++i) {
      int64_t r = i < problem.ranks ? i : 2 * problem.ranks - 1 - i;
      if (run.advance(r))
        isDone = false;
      if (run.isOver)
        return {};
    }
  }
  Score score{0, 0};
  for (int64_t r = 0; r < problem.ranks; ++r) {
    if (run.ranks[r].next != words[r].size())
      return {};
    score.longestSpan =
        std::max(score.longestSpan, run.ranks[r].free - run.ranks[r].start);
    score.makespan = std::max(score.makespan, run.ranks[r].free);
  }
  return score;
}

double pipemesh::schedule::getLeastMemory(const StageCosts &stage) {
  return std::max(stage.activation, stage.kept);
}

Error pipemesh::schedule::checkProblem(const ZeroBubbleProblem &problem) {
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    double least = getLeastMemory(problem.costs[rank]);
    if (least > problem.memoryLimit + slack)
      return fail("zb-auto: a memory limit of {0} holds no micro-batch on rank "
                  "{1}, which needs {2}",
                  toText(problem.memoryLimit), rank, toText(least));
  }
  return Error::success();
}
