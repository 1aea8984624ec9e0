//===- ZeroBubbleTest.cpp - the heuristic, the search, and all orders -----===//

#include "pipemesh/Schedule/ZeroBubble.h"
#include "Fixture.h"

#include <random>

using namespace pipemesh::schedule;

/// Every order of a rank in which each kind keeps the order of micro-batches.
static void addOrders(int32_t rank, int32_t microBatches, int32_t f, int32_t i,
                      int32_t w, ActionList &list,
                      std::vector<ActionList> &orders) {
  if (w == microBatches) {
    orders.push_back(list);
    return;
  }
  auto follow = [&](Action action, int32_t f, int32_t i, int32_t w) {
    list.push_back(action);
    addOrders(rank, microBatches, f, i, w, list, orders);
    list.pop_back();
  };
  if (f < microBatches)
    follow({ActionKind::Forward, rank, f}, f + 1, i, w);
  if (i < f)
    follow({ActionKind::BackwardInput, rank, i}, f, i + 1, w);
  if (w < i)
    follow({ActionKind::BackwardWeight, rank, w}, f, i, w + 1);
}

/// The shortest longest span of all schedules within the limit.
static double tryAll(const ZeroBubbleProblem &problem) {
  Schedule schedule;
  schedule.microBatches = problem.microBatches;
  schedule.rankOfStage = placeStages(Placement::Loop, problem.ranks, 1);
  schedule.lists.resize(problem.ranks);
  std::vector<std::vector<ActionList>> orders(problem.ranks);
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    ActionList list;
    addOrders(rank, problem.microBatches, 0, 0, 0, list, orders[rank]);
  }
  double best = std::numeric_limits<double>::infinity();
  auto choose = [&](auto &self, int64_t rank) -> void {
    if (rank < problem.ranks) {
      for (const ActionList &list : orders[rank]) {
        schedule.lists[rank] = list;
        self(self, rank + 1);
      }
      return;
    }
    llvm::Expected<Timeline> timeline = simulate(schedule, problem.costs);
    if (!timeline) {
      llvm::consumeError(timeline.takeError());
      return;
    }
    for (double peak : timeline->peakMemory)
      if (peak > problem.memoryLimit + 1e-9)
        return;
    best = std::min(best, timeline->getLongestSpan());
  };
  choose(choose, 0);
  return best;
}

/// Costs of a few quarters, so that sums are exact and ties are frequent.
static ZeroBubbleProblem draw(std::minstd_rand &random, int64_t ranks,
                              int64_t microBatches, bool isUneven) {
  auto quarters = [&](int least, int most) {
    return (least + int(random() % (most - least + 1))) / 4.0;
  };
  ZeroBubbleProblem problem;
  problem.ranks = ranks;
  problem.microBatches = microBatches;
  std::vector<StageCosts> stages;
  for (int64_t rank = 0; rank < (isUneven ? ranks : 1); ++rank) {
    StageCosts stage;
    stage.forward = quarters(1, 12);
    stage.input = quarters(1, 12);
    stage.weight = quarters(1, 12);
    stage.transfer = quarters(0, 3);
    stage.activation = quarters(4, 6);
    stage.kept = quarters(0, 5);
    stages.push_back(stage);
  }
  problem.costs = Costs(stages);
  problem.memoryLimit = quarters(6, 16);
  return problem;
}

TEST(ZeroBubble, SearchFindsTheBestOfAllOrders) {
  std::minstd_rand random(7);
  for (auto [ranks, microBatches, cases] :
       {std::tuple(1, 4, 6), std::tuple(2, 2, 40), std::tuple(2, 3, 30),
        std::tuple(3, 2, 30), std::tuple(4, 2, 4)})
    for (int i = 0; i < cases; ++i) {
      ZeroBubbleProblem problem = draw(random, ranks, microBatches, i % 2);
      ExactResult result = take(searchZeroBubble(problem));
      EXPECT_TRUE(result.isOptimal);
      EXPECT_NEAR(result.longestSpan, tryAll(problem), 1e-9)
          << ranks << " ranks, " << microBatches << " micro-batches, case "
          << i;
      EXPECT_NEAR(
          take(simulate(result.schedule, problem.costs)).getLongestSpan(),
          result.longestSpan, 1e-9);
    }
}

TEST(ZeroBubble, HeuristicStaysInTheLimitAndIsNeverBelowTheBest) {
  std::minstd_rand random(11);
  for (int i = 0; i < 40; ++i) {
    ZeroBubbleProblem problem = draw(random, 2 + i % 2, 3, i % 4 == 3);
    Schedule schedule = take(findZeroBubble(problem));
    EXPECT_FALSE(validate(schedule));
    Timeline timeline = take(simulate(schedule, problem.costs));
    for (double peak : timeline.peakMemory)
      EXPECT_LE(peak, problem.memoryLimit + 1e-9);
    EXPECT_GE(timeline.getLongestSpan(),
              take(searchZeroBubble(problem)).longestSpan - 1e-9);
  }
}

/// With the first row's costs of the paper's table the heuristic finds the best
/// schedule of each small case.
TEST(ZeroBubble, HeuristicIsOptimalOnSmallCasesOfThePaper) {
  StageCosts stage;
  stage.forward = 29.718;
  stage.input = 29.444;
  stage.weight = 19.927;
  stage.transfer = 0.527;
  stage.kept = 131072.0 / 303104;
  for (int64_t ranks : {2, 3})
    for (int64_t microBatches : {2, 3, 4, 5, 6})
      for (int64_t limit : {1, 2}) {
        ZeroBubbleProblem problem;
        problem.ranks = ranks;
        problem.microBatches = microBatches;
        problem.costs = Costs(stage);
        problem.memoryLimit = ranks * limit;
        Timeline timeline =
            take(simulate(take(findZeroBubble(problem)), problem.costs));
        ExactResult result = take(searchZeroBubble(problem));
        EXPECT_TRUE(result.isOptimal);
        EXPECT_NEAR(timeline.getLongestSpan(), result.longestSpan, 1e-9);
      }
}

TEST(ZeroBubble, IsNoWorseThanTheSchedulesByHand) {
  for (int64_t ranks : {1, 2, 4, 8})
    for (int64_t microBatches : {1, 3, 8, 24})
      for (auto [name, limit] :
           {std::pair("zb-h1", ranks), std::pair("zb-h2", 2 * ranks - 1)}) {
        Request request = makeRequest("zb-auto", ranks, 1, microBatches);
        request.memoryLimit = limit;
        double automatic =
            take(simulate(take(generate(request)))).getLongestSpan();
        double byHand =
            take(simulate(
                     take(generate(makeRequest(name, ranks, 1, microBatches)))))
                .getLongestSpan();
        EXPECT_LE(automatic, byHand);
      }
}

TEST(ZeroBubble, AnyLimitThatHoldsAMicroBatchWorks) {
  for (double limit : {1.0, 1.5, 2.0, 3.0}) {
    Request request = makeRequest("zb-auto", 4, 1, 6);
    request.memoryLimit = limit;
    Schedule schedule = take(generate(request));
    for (double peak : take(simulate(schedule)).peakMemory)
      EXPECT_LE(peak, limit);
  }
  Request request = makeRequest("zb-auto", 4, 1, 6);
  request.memoryLimit = 0.5;
  EXPECT_EQ(messageOf(generate(request)),
            "zb-auto: a memory limit of 0.5 holds no micro-batch on rank 0, "
            "which needs 1");
}

TEST(ZeroBubble, SearchStopsAfterItsNodes) {
  ZeroBubbleProblem problem;
  problem.ranks = 4;
  problem.microBatches = 8;
  problem.memoryLimit = 4;
  ExactResult result = take(searchZeroBubble(problem, 1000));
  EXPECT_FALSE(result.isOptimal);
  EXPECT_FALSE(validate(result.schedule));
}
