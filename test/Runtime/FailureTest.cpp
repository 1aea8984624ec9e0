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

  CommandResult run(const std::string &environment,
                    const std::string &options) {
    auto begin = std::chrono::steady_clock::now();
    CommandResult result =
        runCommand(cat(environment, " ", PMRT_TEST_PMRUN, " ",
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

TEST_P(Failure, AKilledProcessIsNamed) {
  CommandResult result = run("PMRUN_FAULT=kill:rank=3,step=2", "");
  expectLine(result, {mpi() ? "the process of rank 3 (dp=1, pp=1)"
                            : "the process of ranks 0 to 3",
                      "was killed by signal 9 (SIGKILL) in step 2", "memory"});
}

TEST_P(Failure, ARankThatStandsStillIsNamedWithThoseThatWait) {
  CommandResult result = run("PMRUN_FAULT=stall:rank=1,step=1", "--deadline=1");
  expectLine(result, {"waits for 1.", "longer than --deadline", "absent: rank ",
                      "rank 1 (dp=0, pp=1), which has been", "step 1"});
}

TEST_P(Failure, WithoutAFaultNothingIsSaid) {
  CommandResult result = run("", "--deadline=5 --poison");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "");
}

TEST_P(Failure, ALossThatIsNotFiniteIsExplainedOnce) {
  writePipelineWeights(folder / "model", 0.75f, NAN);
  CommandResult result = run("", cat("--save=", folder / "saved"));
  expectLine(result, {"the loss is nan at step 0", "parameter 'w1' holds nan",
                      "kernel 'forward' at layers.1"});
  EXPECT_FALSE(std::filesystem::exists(folder / "saved/config.json"));
}

TEST_P(Failure, WrongInputIsToldOnce) {
  expectLine(run("", "--frobnicate"), {"unknown option '--frobnicate'"});
  expectLine(run("", "--recipe=/nowhere.json"), {"/nowhere.json"});
  expectLine(run("", cat("--save=", folder / "data.safetensors/x")),
             {"--save", "data.safetensors/x"});
}

TEST(Fault, IsReadFromItsText) {
  EXPECT_FALSE(parseFault(""));
  std::optional<Fault> fault = parseFault("stall:rank=3,step=12");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Stall);
  EXPECT_EQ(fault->rank, 3);
  EXPECT_EQ(fault->step, 12);
  for (const char *wrong :
       {"kill", "kill:rank=1", "burn:rank=1,step=1", "kill:rank=1,step=1,"})
    EXPECT_ERROR(parseFault(wrong), "PMRUN_FAULT", wrong,
                 "stall:rank=R,step=S");
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
