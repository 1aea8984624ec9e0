//===- Balance.cpp - which layers a stage gets ----------------------------===//

#include "pipemesh/Schedule/Balance.h"
#include "Check.h"
#include "pipemesh/Schedule/Simulate.h"
#include "llvm/ADT/STLExtras.h"

using namespace pipemesh::schedule;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

/// Items that all simulations of a search run together: about a second.
static constexpr int64_t mostItems = 8'000'000;
/// Divisions up to which all are tried.
static constexpr int64_t mostDivisions = 3000;

std::vector<int64_t> pipemesh::schedule::divideEqually(int64_t layers,
                                                       int64_t stages) {
  std::vector<int64_t> division(stages, layers / stages);
  for (int64_t i = 0; i < layers % stages; ++i)
    ++division[stages - 1 - i];
  return division;
}

Costs pipemesh::schedule::getStageCosts(const BalanceProblem &problem,
                                        ArrayRef<int64_t> layers) {
  std::vector<StageCosts> stages;
  size_t next = 0;
  for (int64_t count : layers) {
    StageCosts sum;
    sum.forward = sum.input = sum.weight = sum.activation = sum.kept = 0;
    for (int64_t i = 0; i < count; ++i, ++next) {
      const StageCosts &layer = problem.layers[next];
      sum.forward += layer.forward;
      sum.input += layer.input;
      sum.weight += layer.weight;
      sum.update += layer.update;
      sum.activation += layer.activation;
      sum.kept += layer.kept;
      sum.transfer = layer.transfer;
    }
    stages.push_back(sum);
  }
  return Costs(std::move(stages));
}

Expected<Division> pipemesh::schedule::evaluate(const BalanceProblem &problem,
                                                ArrayRef<int64_t> layers) {
  Expected<Timeline> timeline =
      simulate(problem.schedule, getStageCosts(problem, layers));
  if (!timeline)
    return timeline.takeError();
  Division division;
  division.layers = layers.vec();
  division.makespan = timeline->makespan;
  std::vector<double> memory = timeline->peakMemory;
  size_t next = 0;
  for (auto [stage, count] : llvm::enumerate(layers))
    for (int64_t i = 0; i < count; ++i, ++next)
      if (next < problem.state.size())
        memory[problem.schedule.rankOfStage[stage]] += problem.state[next];
  division.memory = *llvm::max_element(memory);
  return std::move(division);
}

namespace {
class Search {
public:
  explicit Search(const BalanceProblem &problem)
      : problem(problem), stages(problem.schedule.getNumStages()),
        layers(problem.layers.size()),
        left(mostItems / std::max<int64_t>(problem.schedule.getNumItems(), 1)) {
    left = std::max<int64_t>(left, 8);
  }

  Expected<Division> run();

private:
  /// Keeps a division that is better than the best; true where it is.
  bool consider(ArrayRef<int64_t> division);
  bool isBetter(const Division &a, const Division &b) const;
  int64_t countDivisions() const;
  void tryAll(std::vector<int64_t> &division, int64_t rest);
  std::vector<int64_t> minimiseLargest(bool fromFront) const;
  void improve();

  const BalanceProblem &problem;
  int64_t stages, layers;
  /// Simulations that may still be made.
  int64_t left;
  std::optional<Division> best;
  std::optional<std::string> failure;
};
} // namespace

bool Search::isBetter(const Division &a, const Division &b) const {
  auto excess = [&](const Division &division) {
    return problem.memoryLimit
               ? std::max(0.0, division.memory - *problem.memoryLimit)
               : 0.0;
  };
  if (excess(a) != excess(b))
    return excess(a) < excess(b);
  constexpr double same = 1e-9;
  if (a.makespan < b.makespan * (1 - same))
    return true;
  // Of equally fast ones the more even, which hold less.
  auto unevenness = [](const Division &division) {
    int64_t sum = 0;
    for (int64_t count : division.layers)
      sum += count * count;
    return sum;
  };
  return a.makespan <= b.makespan * (1 + same) && unevenness(a) < unevenness(b);
}

bool Search::consider(ArrayRef<int64_t> division) {
  --left;
  Expected<Division> found = evaluate(problem, division);
  if (!found) {
    failure = llvm::toString(found.takeError());
    return false;
  }
  if (best && !isBetter(*found, *best))
    return false;
  best = std::move(*found);
  return true;
}

/// Over `mostDivisions` counts as more.
int64_t Search::countDivisions() const {
  double count = 1;
  for (int64_t i = 1; i < stages; ++i) {
    count = count * double(layers - i) / double(i);
    if (count > mostDivisions * 1e6)
      break;
  }
  return count > mostDivisions ? mostDivisions + 1 : int64_t(count + 0.5);
}

void Search::tryAll(std::vector<int64_t> &division, int64_t rest) {
  int64_t open = stages - int64_t(division.size());
  if (open == 1) {
    division.push_back(rest);
    consider(division);
    division.pop_back();
    return;
  }
  for (int64_t count = 1; count <= rest - (open - 1); ++count) {
    division.push_back(count);
    tryAll(division, rest - count);
    division.pop_back();
  }
}

/// A division whose most expensive stage is as cheap as it can be, by bisection
/// over the limit that greedy pieces keep, from the front or from the back.
std::vector<int64_t> Search::minimiseLargest(bool fromFront) const {
  auto costOf = [&](int64_t i) {
    const StageCosts &layer = problem.layers[fromFront ? i : layers - 1 - i];
    return layer.forward + layer.getBackward();
  };
  auto divide = [&](double limit, std::vector<int64_t> *division) {
    int64_t stage = 0, count = 0;
    double sum = 0;
    if (division)
      division->assign(stages, 0);
    for (int64_t i = 0; i < layers; ++i) {
      // The stages that are left need a layer each.
      bool isDue = layers - i <= stages - 1 - stage;
      if (count > 0 && (sum + costOf(i) > limit || isDue)) {
        if (++stage >= stages)
          return false;
        sum = 0;
        count = 0;
      }
      sum += costOf(i);
      ++count;
      if (division)
        ++(*division)[stage];
    }
    return true;
  };
  double low = 0, high = 0;
  for (int64_t i = 0; i < layers; ++i)
    high += costOf(i);
  high = high * (1 + 1e-9) + 1e-300;
  for (int round = 0; round < 60; ++round) {
    double middle = (low + high) / 2;
    (divide(middle, nullptr) ? high : low) = middle;
  }
  std::vector<int64_t> division;
  divide(high, &division);
  if (!fromFront)
    std::reverse(division.begin(), division.end());
  return division;
}

/// Moves a layer from one stage to another, neighbours first.
void Search::improve() {
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (int64_t distance = 1; distance < stages && !moved; ++distance)
      for (int64_t from = 0; from < stages && !moved; ++from)
        for (int64_t to : {from - distance, from + distance}) {
          if (to < 0 || to >= stages || best->layers[from] < 2 || left <= 0)
            continue;
          std::vector<int64_t> next = best->layers;
          --next[from];
          ++next[to];
          if (consider(next)) {
            moved = true;
            break;
          }
        }
  }
}

Expected<Division> Search::run() {
  if (layers < stages)
    return fail("{0} layers do not make {1} stages", layers, stages);
  consider(divideEqually(layers, stages));
  if (best && countDivisions() <= std::min(mostDivisions, left)) {
    std::vector<int64_t> division;
    tryAll(division, layers);
  } else if (best) {
    Division equal = *best;
    for (bool fromFront : {false, true})
      consider(minimiseLargest(fromFront));
    improve();
    // The equal division may lead elsewhere.
    if (equal.layers != best->layers && left > 0) {
      Division found = *best;
      best = std::move(equal);
      improve();
      if (!isBetter(*best, found))
        best = std::move(found);
    }
  }
  if (!best)
    return fail("{0}", *failure);
  return std::move(*best);
}

Expected<Division> pipemesh::schedule::balance(const BalanceProblem &problem) {
  return Search(problem).run();
}
