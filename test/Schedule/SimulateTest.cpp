//===- SimulateTest.cpp - times, memory, waits and pictures ---------------===//

#include "Fixture.h"
#include "pipemesh/Schedule/Print.h"

using namespace pipemesh::schedule;

static Schedule makeLists(std::vector<int32_t> rankOfStage,
                          int64_t microBatches, std::vector<ActionList> lists) {
  Schedule schedule;
  schedule.rankOfStage = std::move(rankOfStage);
  schedule.microBatches = microBatches;
  schedule.lists = std::move(lists);
  return schedule;
}

static Action F(int32_t stage, int32_t i) {
  return {ActionKind::Forward, stage, i};
}
static Action I(int32_t stage, int32_t i) {
  return {ActionKind::BackwardInput, stage, i};
}
static Action W(int32_t stage, int32_t i) {
  return {ActionKind::BackwardWeight, stage, i};
}
static Action B(int32_t stage, int32_t i) {
  return {ActionKind::Backward, stage, i};
}

TEST(Simulate, CostsOfEachStageAndTransfers) {
  Costs costs = take(Costs::parseTable("stage,F,I,W,B,transfer\n"
                                       "0,1,2,3,,0.5\n"
                                       "1,10,20,30,45,0.25\n"));
  Timeline timeline = take(simulate(parse("0F0,0I0,0W0\n1F0,1B0\n"), costs));
  EXPECT_EQ(timeline.items[1][0].start, 1.5);
  EXPECT_EQ(timeline.items[1][1].end, 56.5);
  EXPECT_EQ(timeline.items[0][1].start, 56.75);
  EXPECT_EQ(timeline.makespan, 61.75);
  EXPECT_EQ(timeline.span, (std::vector<double>{61.75, 55}));
  EXPECT_EQ(timeline.busy, (std::vector<double>{6, 55}));
  EXPECT_DOUBLE_EQ(timeline.bubble, (61.75 - 6) / 61.75);
}

TEST(Simulate, NothingIsSentBetweenStagesOfOneRank) {
  Costs costs(StageCosts{});
  ASSERT_FALSE(costs.parseTimes("1,1,1,5"));
  Timeline timeline =
      take(simulate(parse("0F0,1F0,1B0,0B0\n2F0,2B0\n"), costs));
  // 1F0 starts at once, 2F0 after a transfer.
  EXPECT_EQ(timeline.items[0][1].start, 1);
  EXPECT_EQ(timeline.items[1][0].start, 7);
}

TEST(Simulate, UpdatesRunAfterTheLastWeightGradient) {
  Schedule schedule = parse("0F0,0B0\n1F0,1B0\n");
  addUpdates(schedule);
  EXPECT_EQ(print(schedule.lists[1]), "1F0 1B0 1U");
  Costs costs;
  ASSERT_FALSE(costs.parseTimes("1,1,1,0,2,4"));
  Timeline timeline = take(simulate(schedule, costs));
  EXPECT_EQ(timeline.makespan, 10);
  EXPECT_EQ(timeline.busy[0], 7);
}

TEST(Simulate, MemoryInUnits) {
  StageCosts cost;
  cost.activation = 10;
  cost.kept = 4;
  Timeline timeline = take(
      simulate(parse("0F0,0F1,0I0,0F2,0I1,0I2,0W0,0W1,0W2\n"), Costs(cost)));
  EXPECT_EQ(timeline.peakMemory, std::vector<double>{24});
  EXPECT_EQ(timeline.peakUntilWeightGradient, std::vector<int64_t>{3});
  EXPECT_EQ(timeline.peakUntilInputGradient, std::vector<int64_t>{2});
  // I may leave more than it frees; B leaves nothing.
  cost.kept = 25;
  EXPECT_EQ(take(simulate(parse("0F0,0I0,0W0\n"), Costs(cost))).peakMemory,
            std::vector<double>{25});
  EXPECT_EQ(take(simulate(parse("0F0,0B0\n"), Costs(cost))).peakMemory,
            std::vector<double>{10});
}

//===----------------------------------------------------------------------===//
// Waits without end, and lists that are no schedule
//===----------------------------------------------------------------------===//

TEST(Simulate, NamesTheCircleOfRanks) {
  Schedule schedule = makeLists({0, 1, 2}, 2,
                                {{F(0, 0), F(0, 1), B(0, 1), B(0, 0)},
                                 {F(1, 0), B(1, 0), F(1, 1), B(1, 1)},
                                 {F(2, 0), F(2, 1), B(2, 0), B(2, 1)}});
  EXPECT_EQ(messageOf(simulate(schedule)),
            "ranks wait for each other: rank 1 at 1B0 for 2B0, rank 2 at 2F1 "
            "for 1F1");
  EXPECT_EQ(messageOf(getTotalOrder(schedule)), messageOf(simulate(schedule)));
}

TEST(Simulate, NamesAWaitWithinARank) {
  EXPECT_EQ(
      messageOf(simulate(makeLists({0}, 1, {{B(0, 0), F(0, 0)}}))),
      "waits without end: rank 0 at 0B0 for 0F0, which comes later in its "
      "own list");
}

TEST(Simulate, NamesAnActionThatNoRankRuns) {
  EXPECT_EQ(messageOf(simulate(
                makeLists({0, 1}, 1, {{F(0, 0), B(0, 0)}, {F(1, 0)}}))),
            "waits without end: rank 0 at 0B0 for 1I0, which no rank runs");
}

TEST(Validate, RefusesWhatIsNoSchedule) {
  auto check = [](std::vector<int32_t> rankOfStage, int64_t microBatches,
                  std::vector<ActionList> lists) {
    return toString(validate(
        makeLists(std::move(rankOfStage), microBatches, std::move(lists))));
  };
  EXPECT_EQ(check({0}, 1, {{F(0, 0)}}),
            "no rank runs the backward of stage 0 and micro-batch 0: 0B0, or "
            "0I0 and 0W0");
  EXPECT_EQ(check({0}, 1, {{F(0, 0), I(0, 0)}}), "no rank runs 0W0");
  EXPECT_EQ(check({0}, 1, {{F(0, 0), W(0, 0)}}), "no rank runs 0I0");
  EXPECT_EQ(check({0}, 2, {{F(0, 0), B(0, 0)}}), "no rank runs 0F1");
  EXPECT_EQ(check({0}, 1, {{F(0, 0), F(0, 0), B(0, 0)}}),
            "0F0 is in the list of rank 0 twice");
  EXPECT_EQ(
      check({0}, 1, {{F(0, 0), B(0, 0), W(0, 0)}}),
      "stage 0 has its backward of micro-batch 0 both as B and as I or W");
  EXPECT_EQ(check({0}, 1, {{F(0, 0), B(0, 1)}}),
            "rank 0 runs 0B1, but there are 1 micro-batches");
  EXPECT_EQ(check({0}, 1, {{F(1, 0)}}),
            "rank 0 runs 1F0, but there are 1 stages");
  EXPECT_EQ(check({0, 1}, 1, {{F(0, 0), B(0, 0), F(1, 0)}, {}}),
            "rank 0 runs 1F0, but stage 1 is placed on rank 1");
  EXPECT_EQ(check({0}, 1, {{Item(F(0, 0), B(0, 0))}}),
            "rank 0 overlaps 0F0 with 0B0, which needs it");
  EXPECT_EQ(check({0}, 1, {{F(0, 0), B(0, 0)}}), "");
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

TEST(Costs, ReadsTimesAndMemory) {
  Costs costs;
  ASSERT_FALSE(costs.parseTimes("2,3,4,0.5"));
  ASSERT_FALSE(costs.parseMemory("1,0.25"));
  EXPECT_EQ(costs[7].forward, 2);
  EXPECT_EQ(costs[7].getBackward(), 7);
  EXPECT_EQ(costs[7].transfer, 0.5);
  EXPECT_EQ(costs[7].kept, 0.25);
  ASSERT_FALSE(costs.parseTimes("2,3,4,0.5,6"));
  EXPECT_EQ(costs[0].getTime(ActionKind::Backward), 6);
}

TEST(Costs, RefusesWithTheColumnAndTheValue) {
  Costs costs;
  EXPECT_EQ(toString(costs.parseTimes("1,-2,3")),
            "I must be a number from 0 on, but is '-2'");
  EXPECT_EQ(toString(costs.parseTimes("1,x")),
            "I must be a number from 0 on, but is 'x'");
  EXPECT_EQ(toString(costs.parseMemory("1,2,3")),
            "memory are at most 2 numbers, ACTIVATION,W, but '1,2,3' has 3");
  EXPECT_EQ(messageOf(Costs::parseTable("F,X\n1,2\n")),
            "unknown column 'X' of costs; known are stage, F, I, W, B, U, "
            "transfer, activation, kept");
  EXPECT_EQ(messageOf(Costs::parseTable("F,F\n1,2\n")),
            "column 'F' of costs is there twice");
  EXPECT_EQ(messageOf(Costs::parseTable("I\n1\n")),
            "a table of costs needs a column 'F'");
  EXPECT_EQ(messageOf(Costs::parseTable("F,I\n1\n")),
            "line 2 of the costs has 1 cells, but the header 2");
  EXPECT_EQ(
      messageOf(Costs::parseTable("F,I\n1,z\n")),
      "'I' in line 2 of the costs must be a number from 0 on, but is 'z'");
  EXPECT_EQ(messageOf(Costs::parseTable("stage,F\n0,1\n2,1\n")),
            "line 3 of the costs is for stage 2, but stage 1 is next");
  EXPECT_EQ(messageOf(Costs::parseTable("")),
            "a table of costs needs a header and a row for each stage");
}

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

TEST(Print, PerfettoHasASliceForEachItem) {
  Schedule schedule = take(generate(makeRequest("dualpipe-v", 2, 2, 4)));
  Timeline timeline = take(simulate(schedule));
  std::string text;
  llvm::raw_string_ostream os(text);
  printPerfetto(schedule, timeline, os);
  llvm::json::Value trace = take(llvm::json::parse(text));
  int64_t slices = 0, overlapped = 0;
  for (const llvm::json::Value &value :
       *trace.getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *value.getAsObject();
    if (*event.getString("ph") != "X")
      continue;
    ++slices;
    if (*event.getObject("args")->getString("kind") == "overlapped") {
      ++overlapped;
      EXPECT_EQ(*event.getNumber("dur"), 3000);
    }
  }
  EXPECT_EQ(slices, schedule.getNumItems());
  EXPECT_EQ(overlapped, 6);
}

TEST(Print, SvgHasABoxForEachAction) {
  Schedule schedule = take(generate(makeRequest("zb-v", 2, 2, 4)));
  std::string text;
  llvm::raw_string_ostream os(text);
  printSvg(schedule, take(simulate(schedule)), os);
  EXPECT_EQ(llvm::StringRef(text).count("<title>"), 48u);
  EXPECT_NE(text.find("<title>3I0: 4 to 5</title>"), std::string::npos);
  EXPECT_TRUE(llvm::StringRef(text).ends_with("</svg>\n"));
}

TEST(Print, JsonIsReadBack) {
  Schedule schedule = take(generate(makeRequest("dualpipe-v", 2, 2, 4)));
  std::string text;
  llvm::raw_string_ostream os(text);
  printJson(schedule, take(simulate(schedule)), os,
            {{"more", llvm::json::Value(1)}});
  llvm::json::Value value = take(llvm::json::parse(text));
  const llvm::json::Object &object = *value.getAsObject();
  EXPECT_EQ(*object.getNumber("makespan"), 26);
  EXPECT_EQ(*object.getInteger("more"), 1);
  EXPECT_EQ((*object.getArray("actions"))[0].getAsArray()->size(), 16u);
}
