//===- ValidTraceTest.cpp - Traces that are proved ------------------------===//

#include "TraceMaker.h"

using namespace pipemesh;
using namespace pipemesh::trace::test;
using pipemesh::proof::test::sampleOf;
using pipemesh::trace::Facts;
using pipemesh::trace::Refusals;

namespace {

SampleOptions pipeline(const std::string &schedule, uint32_t dp, uint32_t tp,
                       uint32_t microBatches, uint32_t seed = 0) {
  SampleOptions options = sampleOf(schedule, 2, 0, microBatches);
  options.dp = dp;
  options.tp = tp;
  options.seed = seed;
  return options;
}

void expectProved(const SampleOptions &sample, const MakeOptions &make,
                  const std::string &what) {
  SampleProgram program(sample);
  ASSERT_EQ(program.refusal(), "") << what;
  EXPECT_EQ(MadeTrace(program, make).refusals(), "") << what;
}

} // namespace

TEST(ValidTraces, OfAllAxesAreProved) {
  for (const char *schedule : {"gpipe", "1f1b"})
    for (uint32_t seed = 0; seed < 6; ++seed)
      expectProved(pipeline(schedule, 2, 2, 4, seed), {},
                   std::string(schedule) + " " + std::to_string(seed));
}

TEST(ValidTraces, OfMachineCodeThatTheGpuDoesNotTakeAreProved) {
  SampleProgram program(pipeline("1f1b", 1, 1, 2));
  MadeTrace made(program);
  made.insert(0, made.find(0, "cuModuleLoadData"),
              {{"call", "cuModuleLoadData"},
               {"kind", "cubin"},
               {"bytes", 100},
               {"result", 209}});
  EXPECT_EQ(made.refusals(), "");
}

TEST(ValidTraces, OfStartedCollectivesAreProved) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    SampleOptions sample = pipeline("1f1b", 2, 1, 4, seed);
    sample.starts = true;
    expectProved(sample, {2}, std::to_string(seed));
  }
}

TEST(ValidTraces, OfCollectivesOverRolesAreProved) {
  SampleOptions sample = pipeline("1f1b", 2, 2, 2);
  sample.spanning = true;
  expectProved(sample, {2}, "spanning");
}

TEST(ValidTraces, OfInterleavedAndZeroBubbleSchedulesAreProved) {
  SampleOptions interleaved = sampleOf("interleaved-1f1b", 2, 2, 4);
  interleaved.tp = 2;
  expectProved(interleaved, {2}, "interleaved");
  SampleOptions bubble = sampleOf("zb-h1", 3, 0, 6);
  bubble.dp = 2;
  expectProved(bubble, {2}, "zb-h1");
}

TEST(ValidTraces, OfGraphLaunchesAreProved) {
  MakeOptions make;
  make.captures = true;
  make.steps = 3;
  for (uint32_t seed = 0; seed < 3; ++seed)
    expectProved(pipeline("1f1b", 2, 2, 4, seed), make, std::to_string(seed));
}

TEST(ValidTraces, OfComputeModeAreProved) {
  MakeOptions make;
  make.touches = true;
  expectProved(pipeline("gpipe", 1, 2, 2), make, "eager");
  make.captures = true;
  expectProved(pipeline("gpipe", 1, 2, 2), make, "captured");
}

TEST(ValidTraces, OfAccumulatorsThatBeginAtZeroAreProved) {
  SampleProgram program(pipeline("1f1b", 2, 1, 4));
  for (runtime::RoleInfo &role : program.manifest.roles)
    for (runtime::BufferInfo &buffer : role.buffers)
      if (buffer.kind == runtime::BufferKind::Accumulator)
        buffer.init = runtime::BufferInit::Zero;
  MadeTrace made(program, {2});
  EXPECT_EQ(made.refusals(), "");
  made.erase(1, made.find(1, "cuMemsetD8Async"));
  EXPECT_NE(made.refusals().find(
                "where the zero at the begin of the step in 'g1', slot "
                "0, of role 1 has to run"),
            std::string::npos)
      << made.refusals();
}

TEST(ValidTraces, AreCounted) {
  SampleProgram program(pipeline("1f1b", 2, 1, 4));
  MakeOptions make;
  make.steps = 3;
  MadeTrace made(program, make);
  Refusals refusals;
  Facts facts = made.prove(refusals);
  ASSERT_TRUE(refusals.empty());
  ASSERT_EQ(facts.ranks.size(), 4u);
  // All, dp (of 2 roles), tp, pp and all of each rank and once more dp; the
  // pairs of either way.
  EXPECT_EQ(facts.communicators, 1u + 2 + 4 + 2 + 1 + 2 + 2 * 2);
  for (const trace::RankFacts &rank : facts.ranks) {
    EXPECT_EQ(rank.steps, 3u);
    EXPECT_EQ(rank.streams, 5u);
    EXPECT_EQ(rank.communicators, 8u);
    EXPECT_EQ(rank.allocations, 1u);
    EXPECT_GT(rank.launches, 10.0);
    EXPECT_GT(rank.eventEdges, 10u);
    EXPECT_LE(rank.redundantEdges * 10, rank.eventEdges);
    EXPECT_EQ(rank.graphLaunches, 0u);
  }
}
