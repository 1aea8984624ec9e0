//===- ZeroBubbleExact.cpp - branch and bound over all words --------------===//
//
// Words are built letter by letter, all ranks together, in the order of the
// actions' starts: a letter starts when its rank is free, what it needs is
// there, and not before the letter that was placed last (the clock). Every
// schedule in which no action waits without reason is met in that order.
//
// A state is dropped when a bound of some rank's span reaches the best schedule
// found, or when one with the same letters placed was at each place as early.
// The second is sound because a letter may be placed at any time from the clock
// on: what completes the later state completes the earlier one too, no later at
// any point. A rank's span also counts from its start, so it applies once all
// have started, to states with the same starts.
//
//===----------------------------------------------------------------------===//

#include "Letters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace pipemesh::schedule;
using llvm::Error;
using llvm::Expected;

namespace {
class Exact {
public:
  Exact(const ZeroBubbleProblem &problem, Words words, int64_t nodes)
      : problem(problem), count(problem.microBatches), nodes(nodes),
        forwardEnds(problem.ranks * count, never),
        inputEnds(problem.ranks * count, never), ranks(problem.ranks),
        words(problem.ranks), best(std::move(words)) {
    bestSpan = evaluate(problem, best).longestSpan;
  }

  ExactResult run() {
    search(0);
    return {toSchedule(best, count), bestSpan, visited < nodes, visited};
  }

private:
  struct Rank {
    double start = never, free = 0, memory = 0;
    int32_t forwards = 0, inputs = 0, weights = 0;
  };
  struct Choice {
    int64_t rank;
    char letter;
    double at;
  };

  void search(double clock);
  void collect(int64_t r, double clock, llvm::SmallVectorImpl<Choice> &out);
  bool isHopeless(double clock);
  bool isDominated(double clock);

  const ZeroBubbleProblem &problem;
  int64_t count, nodes, visited = 0;
  std::vector<double> forwardEnds, inputEnds;
  std::vector<Rank> ranks;
  Words words, best;
  double bestSpan = never;
  /// For each set of letters placed, the times of states that were there.
  llvm::StringMap<std::vector<std::vector<double>>> seen;
  static constexpr size_t mostSeen = 4'000'000;
  size_t numSeen = 0;
};
} // namespace

void Exact::collect(int64_t r, double clock,
                    llvm::SmallVectorImpl<Choice> &out) {
  const Rank &rank = ranks[r];
  const StageCosts &cost = problem.costs[r];
  double now = std::max(rank.free, clock);
  double limit = problem.memoryLimit + slack;
  // Where a W is over before anything else can start, it comes first.
  double weightEnd = never;
  if (rank.weights < rank.inputs) {
    out.push_back({r, 'W', now});
    weightEnd = now + cost.weight;
  }
  auto add = [&](char letter, double ready) {
    double at = std::max(now, ready);
    if (at < never && at < weightEnd - slack)
      out.push_back({r, letter, at});
  };
  if (rank.inputs < rank.forwards &&
      rank.memory + cost.kept - cost.activation <= limit)
    add('I', r + 1 == problem.ranks ? now
                                    : inputEnds[(r + 1) * count + rank.inputs] +
                                          problem.costs[r + 1].transfer);
  if (rank.forwards < count && rank.memory + cost.activation <= limit)
    add('F', r == 0 ? now
                    : forwardEnds[(r - 1) * count + rank.forwards] +
                          problem.costs[r - 1].transfer);
}

/// Each rank still has its work to do from now on, and behind its last I, which
/// is behind those of all later ranks, a W.
bool Exact::isHopeless(double clock) {
  double tail = 0;
  for (int64_t r = problem.ranks; r-- > 0;) {
    const Rank &rank = ranks[r];
    const StageCosts &cost = problem.costs[r];
    double now = rank.weights == count ? rank.free : std::max(rank.free, clock);
    double chain = now + (count - rank.forwards) * cost.forward +
                   (count - rank.inputs) * cost.input;
    // `tail`: the earliest arrival of the last gradient.
    if (rank.inputs < count)
      chain = std::max(chain, tail + cost.input);
    double end = chain + (count - rank.weights) * cost.weight;
    if (rank.inputs < count) {
      end = std::max(now + (count - rank.forwards) * cost.forward +
                         (count - rank.inputs) * cost.input +
                         (count - rank.weights) * cost.weight,
                     chain + cost.weight);
    }
    if (rank.start < never && end - rank.start >= bestSpan - slack)
      return true;
    tail = rank.inputs < count ? chain + cost.transfer : 0;
  }
  return false;
}

bool Exact::isDominated(double clock) {
  for (const Rank &rank : ranks)
    if (rank.start == never)
      return false;
  std::string key;
  auto addBytes = [&](auto value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  std::vector<double> times{clock};
  auto addTime = [&](double time) { times.push_back(std::max(time, clock)); };
  for (int64_t r = 0; r < problem.ranks; ++r) {
    const Rank &rank = ranks[r];
    addBytes(rank.forwards);
    addBytes(rank.inputs);
    addBytes(rank.weights);
    addBytes(rank.start);
    addTime(rank.free);
    if (r > 0)
      for (int32_t i = rank.forwards; i < ranks[r - 1].forwards; ++i)
        addTime(forwardEnds[(r - 1) * count + i] +
                problem.costs[r - 1].transfer);
    if (r + 1 < problem.ranks)
      for (int32_t i = rank.inputs; i < ranks[r + 1].inputs; ++i)
        addTime(inputEnds[(r + 1) * count + i] + problem.costs[r + 1].transfer);
  }
  std::vector<std::vector<double>> &others = seen[key];
  auto isNoLater = [](const std::vector<double> &a,
                      const std::vector<double> &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] > b[i])
        return false;
    return true;
  };
  for (const std::vector<double> &other : others)
    if (isNoLater(other, times))
      return true;
  if (numSeen < mostSeen) {
    size_t before = others.size();
    llvm::erase_if(others, [&](const std::vector<double> &other) {
      return isNoLater(times, other);
    });
    others.push_back(std::move(times));
    numSeen += others.size() - before;
  }
  return false;
}

void Exact::search(double clock) {
  if (++visited >= nodes || isHopeless(clock))
    return;
  llvm::SmallVector<Choice> choices;
  for (int64_t r = 0; r < problem.ranks; ++r)
    collect(r, clock, choices);
  if (choices.empty()) {
    // Complete, or stuck. Waits that the clock forced fall away.
    double span = evaluate(problem, words).longestSpan;
    if (span < bestSpan - slack) {
      bestSpan = span;
      best = words;
    }
    return;
  }
  if (isDominated(clock))
    return;
  auto preference = [](char letter) {
    return letter == 'I' ? 0 : letter == 'F' ? 1 : 2;
  };
  llvm::sort(choices, [&](const Choice &a, const Choice &b) {
    return std::make_tuple(a.at, preference(a.letter), a.rank) <
           std::make_tuple(b.at, preference(b.letter), b.rank);
  });
  for (const Choice &choice : choices) {
    Rank &rank = ranks[choice.rank];
    const StageCosts &cost = problem.costs[choice.rank];
    Rank saved = rank;
    double *end = nullptr;
    rank.start = std::min(rank.start, choice.at);
    if (choice.letter == 'F') {
      rank.free = choice.at + cost.forward;
      rank.memory += cost.activation;
      end = &forwardEnds[choice.rank * count + rank.forwards++];
    } else if (choice.letter == 'I') {
      rank.free = choice.at + cost.input;
      rank.memory += cost.kept - cost.activation;
      end = &inputEnds[choice.rank * count + rank.inputs++];
    } else {
      rank.free = choice.at + cost.weight;
      rank.memory -= cost.kept;
      ++rank.weights;
    }
    if (end)
      *end = rank.free;
    words[choice.rank] += choice.letter;
    search(choice.at);
    words[choice.rank].pop_back();
    if (end)
      *end = never;
    rank = saved;
    if (visited >= nodes)
      return;
  }
}

Expected<ExactResult>
pipemesh::schedule::searchZeroBubble(const ZeroBubbleProblem &problem,
                                     int64_t nodes) {
  Expected<Schedule> first = findZeroBubble(problem);
  if (!first)
    return first.takeError();
  Words words;
  for (const ActionList &list : first->lists) {
    std::string &word = words.emplace_back();
    for (const Item &item : list)
      word += getLetter(item.action.kind);
  }
  return Exact(problem, std::move(words), nodes).run();
}
