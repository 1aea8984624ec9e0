//===- BalanceTest.cpp - layers of the stages -----------------------------===//

#include "pipemesh/Schedule/Balance.h"
#include "Fixture.h"
#include "llvm/ADT/STLExtras.h"
#include <random>

using namespace pipemesh::schedule;

static BalanceProblem makeProblem(const std::string &name, int64_t ranks,
                                  int64_t chunks, int64_t microBatches,
                                  int64_t layers, double head) {
  BalanceProblem problem;
  problem.schedule =
      take(generate(makeRequest(name, ranks, chunks, microBatches)));
  StageCosts layer;
  layer.activation = 1;
  layer.kept = 0.5;
  problem.layers.assign(layers, layer);
  StageCosts &last = problem.layers.back();
  last.forward += head;
  last.input += head;
  last.weight += head;
  return problem;
}

/// The best of all divisions.
static Division tryAll(const BalanceProblem &problem) {
  int64_t stages = problem.schedule.getNumStages();
  std::optional<Division> best;
  std::vector<int64_t> division(stages, 1);
  auto visit = [&](auto self, int64_t stage, int64_t rest) -> void {
    if (stage + 1 == stages) {
      division[stage] = rest;
      Division found = take(evaluate(problem, division));
      if (!best || found.makespan < best->makespan)
        best = found;
      return;
    }
    for (int64_t count = 1; count <= rest - (stages - 1 - stage); ++count) {
      division[stage] = count;
      self(self, stage + 1, rest - count);
    }
  };
  visit(visit, 0, problem.layers.size());
  return *best;
}

TEST(Balance, EqualLayersStayWhereNothingIsBetter) {
  for (const char *name : {"1f1b", "zb-h1", "gpipe"}) {
    Division found = take(balance(makeProblem(name, 4, 1, 8, 12, 0)));
    EXPECT_EQ(found.layers, (std::vector<int64_t>{3, 3, 3, 3})) << name;
  }
}

TEST(Balance, WhatIsLeftOverGoesToTheLastStages) {
  EXPECT_EQ(divideEqually(10, 4), (std::vector<int64_t>{2, 2, 3, 3}));
}

TEST(Balance, EqualStagesHaveAllLayersAndDifferByOne) {
  for (int64_t stages = 1; stages <= 12; ++stages)
    for (int64_t layers = stages; layers <= 40; ++layers) {
      std::vector<int64_t> division = divideEqually(layers, stages);
      int64_t sum = 0;
      for (int64_t count : division)
        sum += count;
      EXPECT_EQ(sum, layers);
      EXPECT_EQ(int64_t(division.size()), stages);
      EXPECT_LE(division.back() - division.front(), 1);
      EXPECT_TRUE(llvm::is_sorted(division));
    }
}

TEST(Balance, TheStageOfALargeHeadGetsFewerLayers) {
  BalanceProblem problem = makeProblem("1f1b", 4, 1, 16, 32, 2.4);
  Division found = take(balance(problem));
  Division equal = take(evaluate(problem, divideEqually(32, 4)));
  EXPECT_LT(found.layers.back(), 8);
  EXPECT_LT(found.makespan, equal.makespan * 0.9);
}

TEST(Balance, TheSearchFindsTheBestOfAll) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> some(0.5, 2);
  for (auto [name, ranks, chunks] :
       {std::tuple<const char *, int64_t, int64_t>{"1f1b", 4, 1},
        {"zb-h1", 3, 1},
        {"interleaved-1f1b", 2, 2},
        {"zb-v", 2, 2}})
    for (int round = 0; round < 5; ++round) {
      BalanceProblem problem =
          makeProblem(name, ranks, chunks, 6, 9, 3 * some(random));
      for (StageCosts &layer : problem.layers) {
        double scale = some(random);
        layer.forward *= scale;
        layer.input *= scale;
        layer.weight *= scale;
        layer.transfer = 0.1;
      }
      EXPECT_NEAR(take(balance(problem)).makespan, tryAll(problem).makespan,
                  1e-9)
          << name;
    }
}

/// Above the number of divisions that are all tried.
TEST(Balance, ALargeSearchIsCloseToTheBound) {
  for (double head : {2.4, 7.0}) {
    BalanceProblem problem = makeProblem("1f1b", 8, 1, 32, 64, head);
    Division found = take(balance(problem));
    double most = 0;
    Costs stages = getStageCosts(problem, found.layers);
    for (size_t stage = 0; stage < stages.size(); ++stage)
      most = std::max(most, stages[stage].forward);
    // The work of a rank in equal parts, rounded up to a layer.
    EXPECT_LE(most, (64 + head) / 8 + 1);
  }
}

TEST(Balance, AMemoryLimitIsKept) {
  // Under 1f1b the first stage holds four micro-batches of its layers.
  BalanceProblem problem = makeProblem("1f1b", 4, 1, 16, 16, 0);
  Division free = take(balance(problem));
  EXPECT_EQ(free.memory, 16);
  problem.memoryLimit = 13;
  Division limited = take(balance(problem));
  EXPECT_LE(limited.memory, 13);
  EXPECT_LT(limited.layers.front(), 4);
  EXPECT_GT(limited.makespan, free.makespan);
  // Nothing keeps this one; the least is what comes out.
  problem.memoryLimit = 2;
  EXPECT_EQ(take(balance(problem)).memory, 8);
}

TEST(Balance, StateCounts) {
  BalanceProblem problem = makeProblem("gpipe", 2, 1, 1, 4, 0);
  problem.state = {10, 1, 1, 1};
  problem.memoryLimit = 12;
  Division found = take(balance(problem));
  EXPECT_EQ(found.layers, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(found.memory, 11);
}

TEST(Balance, TooFewLayersAreRefused) {
  EXPECT_EQ(messageOf(balance(makeProblem("1f1b", 4, 1, 2, 3, 0))),
            "3 layers do not make 4 stages");
}
