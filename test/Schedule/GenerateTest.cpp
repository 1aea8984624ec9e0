//===- GenerateTest.cpp - orders, places and refusals ---------------------===//

#include "Fixture.h"

using namespace pipemesh::schedule;

static std::string refuse(const Request &request) {
  return messageOf(generate(request));
}

TEST(Generate, FewerMicroBatchesThanRanks) {
  Schedule schedule = take(generate(makeRequest("1f1b", 4, 1, 2)));
  EXPECT_EQ(print(schedule.lists[0]), "0F0 0F1 0B0 0B1");
  schedule = take(generate(makeRequest("zb-h1", 4, 1, 2)));
  EXPECT_EQ(print(schedule.lists[3]), "3F0 3I0 3F1 3I1 3W0 3W1");
  schedule = take(generate(makeRequest("interleaved-1f1b", 4, 2, 2)));
  EXPECT_EQ(print(schedule.lists[3]), "3F0 3F1 7F0 7B0 7F1 7B1 3B0 3B1");
  // Of a pair one half may be missing.
  schedule = take(generate(makeRequest("dualpipe-v", 2, 2, 2)));
  EXPECT_EQ(print(schedule.lists[0]), "0F0 0F1 3F0 3I0 3W0 3F1 3B1 0B0 0B1");
}

TEST(Generate, OneRank) {
  EXPECT_EQ(print(take(generate(makeRequest("zb-h2", 1, 1, 2))).lists[0]),
            "0F0 0I0 0W0 0F1 0I1 0W1");
  EXPECT_EQ(print(take(generate(makeRequest("zb-v", 1, 2, 1))).lists[0]),
            "0F0 1F0 1I0 1W0 0I0 0W0");
}

TEST(Generate, RoundsOfInterleavedDifferByOneAtMost) {
  // 5 micro-batches on 2 ranks: rounds of 3 and 2.
  Schedule schedule = take(generate(makeRequest("interleaved-1f1b", 2, 2, 5)));
  EXPECT_EQ(print(schedule.lists[1]),
            "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4 "
            "3B3 3B4 1B3 1B4");
}

TEST(Generate, Placement) {
  EXPECT_EQ(placeStages(Placement::Loop, 3, 2),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(placeStages(Placement::V, 3, 3),
            (std::vector<int32_t>{0, 1, 2, 2, 1, 0, 0, 1, 2}));
  EXPECT_EQ(take(generate(makeRequest("zb-v", 2, 2, 4))).getStagesOf(0),
            (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(getPlacement("dualpipe-v"), Placement::V);
  EXPECT_EQ(getPlacement("looped-bfs"), Placement::Loop);
  EXPECT_TRUE(splitsBackward("zb-h1"));
  EXPECT_FALSE(splitsBackward("interleaved-1f1b"));
}

TEST(Generate, ChunksAreWhatTheScheduleNeedsUnlessGiven) {
  EXPECT_EQ(take(generate(makeRequest("1f1b", 2, 0, 2))).getNumStages(), 2);
  EXPECT_EQ(take(generate(makeRequest("zb-v", 2, 0, 2))).getNumStages(), 4);
  EXPECT_EQ(
      take(generate(makeRequest("interleaved-1f1b", 2, 0, 2))).getNumStages(),
      4);
}

TEST(Generate, RefusesWithWhatWorks) {
  EXPECT_EQ(refuse(makeRequest("zb-h3", 2, 1, 2)),
            "unknown schedule 'zb-h3'; known are gpipe, 1f1b, "
            "interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-auto, zb-v, "
            "dualpipe-v");
  EXPECT_EQ(refuse(makeRequest("1f1b", 0, 1, 2)),
            "0 ranks; a schedule needs at least 1");
  EXPECT_EQ(refuse(makeRequest("1f1b", 2, 1, 0)),
            "0 micro-batches; a schedule needs at least 1");
  EXPECT_EQ(refuse(makeRequest("zb-h1", 2, 2, 2)),
            "zb-h1 has 1 chunk on each rank, but chunks is 2; interleaved-1f1b "
            "and looped-bfs take any number, zb-v and dualpipe-v take 2");
  EXPECT_EQ(refuse(makeRequest("zb-v", 2, 3, 2)),
            "zb-v has 2 chunks on each rank, but chunks is 3; "
            "interleaved-1f1b and looped-bfs take other numbers");
  EXPECT_EQ(refuse(makeRequest("interleaved-1f1b", 2, 1, 2)),
            "interleaved-1f1b needs at least 2 chunks on each rank, but chunks "
            "is 1; with one chunk, 1f1b is that schedule");
  EXPECT_EQ(refuse(makeRequest("gpipe", 65536, 1, 65536)),
            "65536 ranks x 1 chunks x 65536 micro-batches are more than "
            "67108864 forwards");
  Request request = makeRequest("1f1b", 4, 1, 2);
  request.costs = Costs(std::vector<StageCosts>(3));
  EXPECT_EQ(refuse(request),
            "costs of 3 stages are given, but the schedule has 4");
}

TEST(Generate, RefusesMoreStagesThanLayers) {
  Request request = makeRequest("interleaved-1f1b", 4, 4, 8);
  request.layers = 12;
  EXPECT_EQ(refuse(request),
            "4 ranks of 4 chunks are 16 stages, but the model has 12 layers; "
            "chunks=2 to 3 work");
  request.layers = 8;
  EXPECT_EQ(refuse(request),
            "4 ranks of 4 chunks are 16 stages, but the model has 8 layers; "
            "chunks=2 works");
  request.layers = 16;
  EXPECT_EQ(refuse(request), "");
  request = makeRequest("zb-v", 4, 2, 8);
  request.layers = 6;
  EXPECT_EQ(refuse(request),
            "4 ranks of 2 chunks are 8 stages, but the model has 6 layers; "
            "zb-v works on up to 3 ranks");
  request.layers = 3;
  EXPECT_EQ(refuse(request),
            "4 ranks of 2 chunks are 8 stages, but the model has 3 layers; "
            "zb-v works on up to 1 rank");
  request.layers = 1;
  EXPECT_EQ(refuse(request),
            "4 ranks of 2 chunks are 8 stages, but the model has 1 layers; "
            "zb-v needs 2 layers, one for each chunk");
}

/// Whether the text ends in numbers that work, which are put into `request`.
static bool takeAdvice(llvm::StringRef text, Request &request) {
  auto numberBehind = [&](llvm::StringRef word, int64_t &number) {
    llvm::StringRef rest = text.split(word).second;
    return !rest.consumeInteger(10, number);
  };
  if (text.ends_with(" rank") || text.ends_with(" ranks"))
    return numberBehind("works on up to ", request.ranks);
  if (text.contains("with one chunk, 1f1b")) {
    request.name = "1f1b";
    return true;
  }
  if (text.contains("interleaved-1f1b and looped-bfs take")) {
    request.name = "looped-bfs";
    return true;
  }
  if (text.ends_with("layers, one for each chunk"))
    return numberBehind("needs ", *request.layers);
  if (text.ends_with(" work"))
    return numberBehind(" to ", request.chunks);
  return numberBehind("chunks=", request.chunks);
}

TEST(Generate, FewLayersManyChunksAndOneRankWorkOrAreRefusedWithWhatWorks) {
  int made = 0, refused = 0;
  for (llvm::StringRef name : getScheduleNames())
    for (int64_t ranks : {1, 2, 3, 4, 8})
      for (int64_t chunks : {0, 1, 2, 3, 5})
        for (int64_t microBatches : {1, 2, 3})
          for (int64_t layers : {1, 2, 3, 4, 6, 8, 16}) {
            Request request =
                makeRequest(name.str(), ranks, chunks, microBatches);
            request.layers = layers;
            llvm::Expected<Schedule> schedule = generate(request);
            if (schedule) {
              ++made;
              EXPECT_LE(int64_t(schedule->getNumStages()), layers);
              EXPECT_EQ(schedule->microBatches, microBatches);
              continue;
            }
            ++refused;
            // What is advised may still have too many stages, and then gives
            // advice that works.
            std::string text = llvm::toString(schedule.takeError());
            SCOPED_TRACE(text);
            for (int tries = 0; !text.empty() && tries < 3; ++tries) {
              ASSERT_TRUE(takeAdvice(text, request)) << text;
              text = refuse(request);
            }
            EXPECT_EQ(text, "");
          }
  EXPECT_EQ(made + refused, 9 * 5 * 5 * 3 * 7);
  EXPECT_GT(made, 500);
  EXPECT_GT(refused, 500);
}
