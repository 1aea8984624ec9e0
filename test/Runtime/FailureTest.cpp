//===- FailureTest.cpp - Ranks that are killed or stand still -------------===//

#include "PipelineFixture.h"

#include "host/Fault.h"
#include "launch/StartChecks.h"

#include <chrono>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

/// Runs with each transport that this build has.
class Failure : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    // Open MPI leaves memory behind, which is not ours to free.
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    writePipeline(folder / "bundle", {2});
    writePipelineWeights(folder / "model");
    writeData(folder / "data.safetensors", 4);
  }

  CommandResult run(const std::string &options) {
    auto begin = std::chrono::steady_clock::now();
    CommandResult result =
        runCommand(cat("TMPDIR=", folder / "", " ", PMRT_TEST_PMRUN, " ",
                       folder / "bundle", " --weights=", folder / "model",
                       " --data=", folder / "data.safetensors",
                       " --quiet --transport=", GetParam(), " ", options));
    seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    return result;
  }

  void expectLine(const CommandResult &result,
                  std::initializer_list<std::string> texts) {
    EXPECT_NE(result.status, 0);
    std::istringstream lines(result.output);
    std::string found;
    int count = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.rfind("pmrun: error: ", 0) == 0) {
        found = line;
        ++count;
      }
    EXPECT_EQ(count, 1) << result.output;
    for (const std::string &text : texts)
      EXPECT_NE(found.find(text), std::string::npos)
          << "got '" << result.output << "', wanted '" << text << "'";
    EXPECT_LT(seconds, 10);
  }

  bool mpi() const { return std::string(GetParam()) == "mpi"; }

  TemporaryFolder folder;
  double seconds = 0;
};

INSTANTIATE_TEST_SUITE_P(Transports, Failure,
#ifdef PIPEMESH_HAVE_MPI
                         testing::Values("threads", "mpi"),
#else
                         testing::Values("threads"),
#endif
                         [](const auto &info) {
                           return std::string(info.param);
                         });

// A rank has, in a step of four micro-batches, four transfers each way, the
// all-reduce of its gradient, and two transfers for the norm: eleven
// communications.

TEST_P(Failure, AKilledRankIsNamedWithWhatItDidLast) {
  // Of several threads just the one ends, and the others wait for it.
  CommandResult result = run(cat("--inject=kill:rank=3,op=25 --deadline=",
                                 mpi() ? "60s" : "1s"));
  if (mpi())
    expectLine(result, {"the process of rank 3 (dp=1, pp=1)",
                        "was killed by signal 9 (SIGKILL) in step 2", "memory",
                        "its last was ", " #24 of '", "--read-flight="});
  else
    expectLine(result, {"longer than --deadline", "rank 3 (dp=1, pp=1), which",
                        "its last was ", " #24 of '"});
  EXPECT_EQ(result.status, mpi() ? 137 : 3);
}

TEST_P(Failure, AKilledProcessIsNamedWithItsStep) {
  CommandResult result = run(
      cat("--inject=kill:rank=3,step=2 --deadline=", mpi() ? "60" : "1"));
  expectLine(result, {"rank 3 (dp=1, pp=1)", "step 2"});
}

TEST_P(Failure, ARankThatStandsStillIsNamedWithThoseThatWait) {
  CommandResult result = run("--inject=stall:rank=1,step=1 --deadline=1");
  expectLine(result, {"waits for 1.", "longer than --deadline", "absent: rank ",
                      "rank 1 (dp=0, pp=1), which has been", "step 1"});
  EXPECT_EQ(result.status, 3);
}

TEST_P(Failure, ATransferThatIsLeftOutIsFoundByTheNextOne) {
  CommandResult result = run("--inject=skip:rank=0,op=2 --deadline=2");
  expectLine(result, {"rank 1 (dp=0, pp=1): what rank 0 sends is not what is "
                      "received here: micro-batch 2 of step 0 against "
                      "micro-batch 1 of step 0"});
  EXPECT_EQ(result.status, 4);
}

TEST_P(Failure, ACollectiveThatIsLeftOutIsWaitedFor) {
  CommandResult result = run("--inject=skip:rank=2,op=9 --deadline=1");
  // Rank 0 waits for it, and others for rank 0.
  bool byFirst = result.output.find("error: rank 0 ") != std::string::npos;
  expectLine(result, {"in all-reduce #1 over dp at layers.0",
                      "longer than --deadline",
                      byFirst ? "absent: rank 2 (dp=1, pp=0), which never "
                                "entered all-reduce #1 over dp at layers.0 and "
                              : "without rank 2, its last was all-reduce #1 "
                                "over dp at layers.0, which it is in"});
  EXPECT_EQ(result.status, 3);
}

TEST_P(Failure, AtTheVeryLastOperationTheOthersWaitBehindTheStep) {
  // Nobody meets rank 1 in an operation any more.
  CommandResult result = run("--inject=stall:rank=1,op=44 --deadline=1");
  expectLine(result, {"longer than --deadline",
                      "rank 1 (dp=0, pp=1), which ", "step 3"});
  EXPECT_EQ(result.status, 3);
}

TEST_P(Failure, AMessageThatNobodyReceivedIsFoundAtTheEnd) {
  CommandResult result = run(cat("--inject=skip:rank=1,op=44 --deadline=1 --save=",
                                 folder / "saved"));
  expectLine(result, {"rank 1 has not received 1 message of rank 0",
                      "what it computed is not to be trusted"});
  EXPECT_EQ(result.status, 4);
  EXPECT_FALSE(std::filesystem::exists(folder / "saved/config.json"));
}

TEST_P(Failure, AWatchThatDoesNotComeAboutIsWarnedOf) {
  CommandResult result = run("--watch=192.0.2.1 --deadline=5");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output,
            mpi() ? "pmrun: warning: the records of the ranks are not "
                    "collected: rank 0 cannot listen on 192.0.2.1: Cannot "
                    "assign requested address; --watch=ADDRESS names another "
                    "address\n"
                  : "");
  // Each process speaks for itself then.
  result = run("--watch=off --inject=stall:rank=1,step=1 --deadline=1");
  expectLine(result, {"rank 1 (dp=0, pp=1), which has been", "step 1"});
  EXPECT_EQ(result.status, 3);
}

TEST_P(Failure, OtherSizesAreFoundBeforeDataMoves) {
  CommandResult result = run("--inject=wrong-size:rank=2,op=9 --deadline=2");
  expectLine(result, {"rank 2 comes with all-reduce", "elements against",
                      "where rank 0 comes with all-reduce"});
  EXPECT_EQ(result.status, 4);
  result = run("--inject=wrong-size:rank=0,op=3 --deadline=2");
  expectLine(result, {"what rank 0 sends is not what is received here",
                      "bytes against"});
  EXPECT_EQ(result.status, 4);
}

TEST_P(Failure, ALateRankIsWaitedForUpToTheDeadline) {
  CommandResult result =
      run("--inject=slow:rank=1,op=5,ms=300 --deadline=5s --poison");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(result.output, "");
  EXPECT_GT(seconds, 0.3);
  result = run("--inject=slow:rank=1,op=5,ms=60000 --deadline=1s");
  expectLine(result, {"longer than --deadline", "rank 1 (dp=0, pp=1), which"});
  EXPECT_EQ(result.status, 3);
}

TEST_P(Failure, FlightRecordsStayAndAreShown) {
  std::string flight = folder / "flight";
  CommandResult result = run("--flight-recorder=" + flight);
  EXPECT_EQ(result.status, 0) << result.output;
  result = runCommand(cat(PMRT_TEST_PMRUN, " --read-flight=", flight));
  EXPECT_EQ(result.status, 0);
  for (const char *text :
       {"rank 0 (dp=0, pp=0): 44 of its last 4096", "rank 3 (dp=1, pp=1): 44",
        "all-reduce #4 over dp at layers.1 (2 f32, micro-batch 0, step 3)",
        "send #35 of 'h' to rank 1 (4 f32, micro-batch 1, step 3)"})
    EXPECT_NE(result.output.find(text), std::string::npos)
        << "wanted '" << text << "' in " << result.output;
  std::filesystem::resize_file(flight + "/rank-0.flight", 100);
  result = runCommand(cat(PMRT_TEST_PMRUN, " --read-flight=", flight));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("rank-0.flight' is no flight record"),
            std::string::npos);
}

TEST_P(Failure, WithoutAFaultNothingIsSaidAndNothingIsLeft) {
  CommandResult result = run("--deadline=5 --poison");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "");
  for (auto &entry : std::filesystem::directory_iterator(folder / ""))
    EXPECT_EQ(entry.path().filename().string().rfind("pmrun-flight", 0),
              std::string::npos);
}

TEST_P(Failure, ALossThatIsNotFiniteIsExplainedOnce) {
  writePipelineWeights(folder / "model", 0.75f, NAN);
  CommandResult result = run(cat("--save=", folder / "saved"));
  expectLine(result, {"the loss is nan at step 0", "parameter 'w1' holds nan",
                      "kernel 'forward' at layers.1"});
  EXPECT_FALSE(std::filesystem::exists(folder / "saved/config.json"));
}

TEST_P(Failure, WrongInputIsToldOnce) {
  expectLine(run("--frobnicate"), {"unknown option '--frobnicate'"});
  expectLine(run("--recipe=/nowhere.json"), {"/nowhere.json"});
  expectLine(run("--inject=melt:rank=1,op=2"), {"--inject is 'melt", "kill"});
  expectLine(run("--flight-recorder=/proc/none"),
             {"cannot make the folder of flight records '/proc/none'"});
  expectLine(run(cat("--save=", folder / "data.safetensors/x")),
             {"--save", "data.safetensors/x"});
}

TEST(Fault, IsReadFromItsText) {
  EXPECT_FALSE(parseFault(""));
  std::optional<Fault> fault = parseFault("stall:rank=3,step=12");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Stall);
  EXPECT_EQ(fault->rank, 3);
  EXPECT_EQ(fault->step, 12);
  EXPECT_FALSE(fault->isAt(3, 12));
  fault = parseFault("slow:op=7,ms=20,rank=1");
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->isAt(1, 7));
  EXPECT_FALSE(fault->isAt(0, 7));
  EXPECT_EQ(fault->milliseconds, 20);
  for (const char *wrong :
       {"kill", "kill:rank=1", "burn:rank=1,step=1", "kill:rank=1,step=1,",
        "skip:rank=1,step=1", "kill:rank=1,op=0", "kill:rank=1,op=-2",
        "kill:rank=1,op=2,ms=3", "kill:rank=1,op=2,step=3", "kill:rank=1,op=2x",
        "kill:rank=1,rank=2,op=3", "kill:op=2", "kill:rank=99999999999999999999"})
    EXPECT_ERROR(parseFault(wrong), "--inject", wrong, "stall:rank=3,step=2");
}

TEST(StartChecks, NameTheFirstDifferenceAndBothRanks) {
  EXPECT_EQ(difference("a\t1\nb\t2\n", "a\t1\nb\t2\n", 3), "");
  EXPECT_EQ(difference("the bundle's hash\tx\nb\t2\n",
                       "the bundle's hash\ty\nb\t3\n", 3),
            "the ranks run different programs: the bundle's hash is 'x' on "
            "rank 0, but 'y' on rank 3; start all ranks with one bundle and "
            "the same options");
}

} // namespace
