//===- PropertiesTest.cpp - what holds for every schedule -----------------===//
//
// A sweep of ranks, chunks and micro-batches, fewer micro-batches than ranks
// included. What is checked is derived here, without the library's `validate`.
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <map>
#include <set>
#include <tuple>

using namespace pipemesh::schedule;

namespace {
/// Runs the total order and checks each action against what ran before.
class Checker {
public:
  explicit Checker(const Schedule &schedule) : schedule(schedule) {}

  void run() {
    std::vector<Place> order = take(getTotalOrder(schedule));
    EXPECT_EQ(int64_t(order.size()), schedule.getNumItems());
    std::vector<int32_t> next(schedule.getNumRanks());
    for (Place place : order) {
      // The projection to a rank is its list.
      EXPECT_EQ(place.index, next[place.rank]++);
      const Item &item = schedule.lists[place.rank][place.index];
      check(item.action, place.rank);
      if (item.partner)
        check(*item.partner, place.rank);
      finish(item.action);
      if (item.partner)
        finish(*item.partner);
    }
    // F, I and W of each stage and micro-batch, nothing twice.
    size_t pairs = schedule.getNumStages() * schedule.microBatches;
    EXPECT_EQ(done.size(), 3 * pairs);
    EXPECT_EQ(numDone, 3 * pairs);
  }

private:
  bool has(char kind, int64_t stage, int64_t i) const {
    return done.count({kind, stage, i});
  }
  void check(const Action &action, int32_t rank) {
    int64_t stage = action.stage, i = action.microBatch;
    EXPECT_EQ(schedule.rankOfStage[stage], rank) << action.str();
    if (action.kind == ActionKind::Forward && stage > 0)
      EXPECT_TRUE(has('F', stage - 1, i)) << action.str();
    if (action.givesInputGradient()) {
      EXPECT_TRUE(has('F', stage, i)) << action.str();
      if (stage + 1 < schedule.getNumStages())
        EXPECT_TRUE(has('I', stage + 1, i)) << action.str();
    }
    if (action.kind == ActionKind::BackwardWeight)
      EXPECT_TRUE(has('I', stage, i)) << action.str();
  }
  void finish(const Action &action) {
    auto add = [&](char kind) {
      done.insert({kind, action.stage, action.microBatch});
      ++numDone;
    };
    if (action.kind == ActionKind::Forward)
      add('F');
    if (action.givesInputGradient())
      add('I');
    if (action.givesWeightGradient())
      add('W');
  }

  const Schedule &schedule;
  std::set<std::tuple<char, int64_t, int64_t>> done;
  size_t numDone = 0;
};
} // namespace

/// Calls visit(name, ranks, chunks, microBatches) for what each schedule takes.
template <typename Visit> static void sweep(Visit visit) {
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t ranks : {1, 2, 3, 4, 5, 8}) {
      std::vector<int64_t> chunks = {1};
      if (name == "interleaved-1f1b")
        chunks = {2, 3, 4};
      else if (name == "looped-bfs")
        chunks = {1, 2, 3};
      else if (name == "zb-v" || name == "dualpipe-v")
        chunks = {2};
      for (int64_t chunk : chunks)
        for (int64_t microBatches : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 19})
          visit(name.str(), ranks, chunk, microBatches);
    }
}

TEST(Properties, EveryActionIsThereOnceAfterWhatItNeeds) {
  int cases = 0;
  sweep([&](const std::string &name, int64_t ranks, int64_t chunks,
            int64_t microBatches) {
    SCOPED_TRACE(name + " " + std::to_string(ranks) + " x " +
                 std::to_string(chunks) + " x " + std::to_string(microBatches));
    Schedule schedule =
        take(generate(makeRequest(name, ranks, chunks, microBatches)));
    EXPECT_EQ(schedule.getNumRanks(), ranks);
    EXPECT_EQ(schedule.getNumStages(), ranks * chunks);
    Checker(schedule).run();
    ++cases;
  });
  EXPECT_EQ(cases, 6 * 12 * (1 + 1 + 3 + 3 + 1 + 1 + 1 + 1 + 1));
}

TEST(Properties, TextIsReadBackAsTheSame) {
  sweep([&](const std::string &name, int64_t ranks, int64_t chunks,
            int64_t microBatches) {
    Schedule schedule =
        take(generate(makeRequest(name, ranks, chunks, microBatches)));
    Schedule again = parse(printActionLists(schedule));
    EXPECT_EQ(again.lists, schedule.lists);
    EXPECT_EQ(again.rankOfStage, schedule.rankOfStage);
    EXPECT_EQ(again.microBatches, schedule.microBatches);
  });
}

TEST(Properties, EveryValueThatCrossesRanksIsSentOnce) {
  sweep([&](const std::string &name, int64_t ranks, int64_t chunks,
            int64_t microBatches) {
    Schedule schedule =
        take(generate(makeRequest(name, ranks, chunks, microBatches)));
    int64_t crossings = 0;
    for (int64_t stage = 1; stage < schedule.getNumStages(); ++stage)
      crossings +=
          schedule.rankOfStage[stage] != schedule.rankOfStage[stage - 1];
    std::vector<Dependency> transfers = take(getTransfers(schedule));
    EXPECT_EQ(int64_t(transfers.size()), 2 * crossings * microBatches);
    std::set<std::string> consumers;
    for (const Dependency &transfer : transfers) {
      EXPECT_NE(schedule.rankOfStage[transfer.producer.stage],
                schedule.rankOfStage[transfer.consumer.stage]);
      EXPECT_EQ(transfer.producer.microBatch, transfer.consumer.microBatch);
      consumers.insert(transfer.consumer.str());
    }
    EXPECT_EQ(consumers.size(), transfers.size());
  });
}

TEST(Properties, PeaksAreAsThePapersSay) {
  for (int64_t ranks : {1, 2, 4, 8})
    for (int64_t microBatches : {16, 19}) {
      auto peaks = [&](const char *name, int64_t chunks) {
        Schedule schedule =
            take(generate(makeRequest(name, ranks, chunks, microBatches)));
        return take(simulate(schedule)).peakUntilWeightGradient;
      };
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(peaks("gpipe", 1)[rank], microBatches);
        EXPECT_EQ(peaks("1f1b", 1)[rank], ranks - rank);
        EXPECT_EQ(peaks("zb-h1", 1)[rank], ranks);
        EXPECT_EQ(peaks("zb-h2", 1)[rank], 2 * ranks - 1);
        EXPECT_EQ(peaks("looped-bfs", 2)[rank], 2 * microBatches);
        // Chunks of half the size: the memory of 1F1B's first rank.
        EXPECT_EQ(peaks("zb-v", 2)[rank], 2 * ranks);
        EXPECT_EQ(peaks("dualpipe-v", 2)[rank], 2 * ranks + 1);
      }
    }
}

TEST(Properties, ZeroBubbleSchedulesHaveNoneWithUnitCosts) {
  for (int64_t ranks : {1, 2, 3, 4, 8})
    for (int64_t microBatches : {16, 19, 32}) {
      for (auto [name, chunks] :
           {std::pair("zb-h2", 1), std::pair("zb-v", 2)}) {
        Schedule schedule =
            take(generate(makeRequest(name, ranks, chunks, microBatches)));
        EXPECT_EQ(take(simulate(schedule)).getLongestSpan(),
                  3 * microBatches * chunks)
            << name << " on " << ranks;
      }
      // ZB-H1 has (P - 1)(F + I - W), section 2.3.
      Schedule schedule =
          take(generate(makeRequest("zb-h1", ranks, 1, microBatches)));
      EXPECT_EQ(take(simulate(schedule)).getLongestSpan(),
                3 * microBatches + ranks - 1);
    }
}
