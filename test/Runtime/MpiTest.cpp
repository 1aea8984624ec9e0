//===- MpiTest.cpp - Ranks as processes of Open MPI -----------------------===//

#include "PipelineFixture.h"

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

#ifdef PIPEMESH_HAVE_MPI

/// mpirun that works as root and with more ranks than cores.
std::string mpirun(int64_t ranks) {
  return cat("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
             "mpirun.openmpi -q --bind-to none --oversubscribe -n ",
             ranks, " ");
}

class Mpi : public testing::Test {
protected:
  void SetUp() override {
    // Open MPI leaves memory behind, which is not ours to free.
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    writeWeights(folder / "model");
    writePipelineWeights(folder / "pair");
    writeData(folder / "data.safetensors", 4);
  }

  /// Arguments of a run that saves everything below `out`.
  std::string arguments(const std::string &bundle, const std::string &weights,
                        const std::string &out) {
    std::filesystem::create_directories(folder / out);
    return cat(" ", folder / bundle, " --weights=", folder / weights,
               " --data=", folder / "data.safetensors",
               " --metrics=", folder / out, "/metrics.jsonl",
               " --save=", folder / out, "/saved --save-every=2",
               " --save-gradients=", folder / out, "/gradients.safetensors",
               " --trace=", folder / out, "/trace.json",
               " --report=", folder / out, "/report.json");
  }

  /// The line of pmrun itself; mpirun adds others.
  std::string ownLine(const CommandResult &result) {
    std::istringstream lines(result.output);
    std::string found;
    for (std::string line; std::getline(lines, line);)
      if (line.rfind("pmrun: error: ", 0) == 0)
        found += line + "\n";
    return found;
  }

  void expectOne(const CommandResult &result,
                 std::initializer_list<std::string> texts) {
    EXPECT_NE(result.status, 0);
    std::string line = ownLine(result);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << result.output;
    for (const std::string &text : texts)
      EXPECT_NE(line.find(text), std::string::npos)
          << "got '" << result.output << "', wanted '" << text << "'";
  }

  TemporaryFolder folder;
};

TEST_F(Mpi, CollectivesAndTransfersHaveTheBitsOfTheOrderOfRanks) {
  for (int64_t ranks : {1, 2, 5}) {
    CommandResult result =
        runCommand(mpirun(ranks) + PMRT_TEST_MPI_COLLECTIVES);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output, cat("checked ", ranks, " ranks\n"));
  }
}

TEST_F(Mpi, DifferentCollectivesAreNoticed) {
  CommandResult result =
      runCommand(mpirun(3) + PMRT_TEST_MPI_COLLECTIVES + " odd");
  EXPECT_NE(result.output.find("rank 2 comes with all-reduce at here (9 "
                               "elements against 8), where ranks 0 and 1 come"),
            std::string::npos)
      << result.output;
}

TEST_F(Mpi, GivesTheBitsOfThreads) {
  writeBundle(folder / "linear", 8, 1);
  writePipeline(folder / "pipeline", {2});
  for (auto [bundle, weights, ranks] :
       {std::tuple("linear", "model", 8), std::tuple("pipeline", "pair", 4)}) {
    std::string threads = cat(bundle, "-threads"), mpi = cat(bundle, "-mpi");
    std::string byMpirun = cat(bundle, "-mpirun");
    CommandResult first =
        pmrun(arguments(bundle, weights, threads) + " --poison");
    ASSERT_EQ(first.status, 0) << first.output;
    CommandResult second =
        pmrun(arguments(bundle, weights, mpi) + " --transport=mpi --poison");
    ASSERT_EQ(second.status, 0) << second.output;
    // The same table, a line for each rank.
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_NE(second.output.find(cat("rank ", rank, " (dp=")),
                std::string::npos)
          << second.output;
    CommandResult third = runCommand(mpirun(ranks) + PMRT_TEST_PMRUN +
                                     arguments(bundle, weights, byMpirun));
    ASSERT_EQ(third.status, 0) << third.output;
    for (const std::string &other : {mpi, byMpirun})
      for (const char *file :
           {"saved/model.safetensors", "saved/optimizer.safetensors",
            "gradients.safetensors", "saved/config.json"})
        EXPECT_EQ(readFile(folder / threads + "/" + file),
                  readFile(folder / other + "/" + file))
            << other << " " << file;
    auto losses = [&](const std::string &run) {
      std::vector<std::string> values;
      std::istringstream lines(readFile(folder / run + "/metrics.jsonl"));
      for (std::string line; std::getline(lines, line);)
        values.push_back(line.substr(0, line.find("\"learning_rate")));
      return values;
    };
    EXPECT_EQ(losses(threads), losses(mpi));
    EXPECT_EQ(losses(threads).size(), 4u);
    // What was counted is the same; how long it took is not.
    auto counts = [&](const std::string &run) {
      auto report =
          nlohmann::json::parse(readFile(folder / run + "/report.json"));
      std::vector<nlohmann::json> ranks;
      for (auto &rank : report["ranks"])
        ranks.push_back({rank["rank"], rank["flops"], rank["weight_bytes_read"],
                         rank["communication"]});
      return ranks;
    };
    EXPECT_EQ(counts(threads), counts(mpi));
    auto spans = [&](const std::string &run) {
      auto trace =
          nlohmann::json::parse(readFile(folder / run + "/trace.json"));
      return trace["traceEvents"].size();
    };
    EXPECT_EQ(spans(threads), spans(mpi));
  }
}

TEST_F(Mpi, ResumesWhatThreadsSaved) {
  writePipeline(folder / "pipeline", {2});
  std::string saved = cat(folder / "first", "/saved");
  ASSERT_EQ(pmrun(arguments("pipeline", "pair", "first") + " --steps=2").status,
            0);
  ASSERT_EQ(pmrun(arguments("pipeline", "pair", "whole")).status, 0);
  CommandResult result = pmrun(arguments("pipeline", "first/saved", "second") +
                               " --resume --transport=mpi");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(readFile(cat(folder / "second", "/saved/model.safetensors")),
            readFile(cat(folder / "whole", "/saved/model.safetensors")));
}

TEST_F(Mpi, AWrongNumberOfProcessesIsRefusedBeforeAnyStep) {
  writeBundle(folder / "linear", 8, 1);
  CommandResult result = runCommand(mpirun(7) + PMRT_TEST_PMRUN +
                                    arguments("linear", "model", "out"));
  expectOne(result,
            {"has 8 ranks, but mpirun started 7 processes", "mpirun -n 8"});
  EXPECT_EQ(readFile(folder / "out/metrics.jsonl"), "");
  expectOne(runCommand(mpirun(2) + PMRT_TEST_PMRUN +
                       arguments("linear", "model", "out") +
                       " --transport=threads"),
            {"--transport=threads", "mpirun started 2"});
}

TEST_F(Mpi, DifferentBundlesOrOptionsAreNamedWithTheirRanks) {
  writeBundle(folder / "linear", 2, 1);
  writePipeline(folder / "pipeline", {1});
  std::string command =
      cat(mpirun(1), PMRT_TEST_PMRUN, arguments("linear", "model", "out"),
          " : -n 1 ", PMRT_TEST_PMRUN, arguments("pipeline", "pair", "out"));
  expectOne(runCommand(command),
            {"the bundle's hash is 'linear-hash' on rank 0, but "
             "'pipeline-hash' on rank 1"});
  command = cat(mpirun(1), PMRT_TEST_PMRUN, arguments("linear", "model", "out"),
                " : -n 1 ", PMRT_TEST_PMRUN,
                arguments("linear", "model", "out"), " --poison");
  expectOne(runCommand(command), {"--poison is '0' on rank 0, but '1' on rank "
                                  "1"});
  command =
      cat(mpirun(1), PMRT_TEST_PMRUN, arguments("linear", "model", "out"),
          " : -n 1 ", PMRT_TEST_PMRUN, arguments("linear", "nowhere", "out"));
  expectOne(runCommand(command), {"rank 1: ", "nowhere"});
}

TEST_F(Mpi, AnInterruptSavesAndEndsWithStatus130) {
  writePipeline(folder / "slow", {1, 0, 10000});
  // More steps than the interrupt leaves time for.
  writeData(folder / "long.safetensors", 400);
  // Interrupted once the first step is done.
  std::string command = cat(
      "{ ", PMRT_TEST_PMRUN, " ", folder / "slow",
      " --weights=", folder / "pair", " --data=", folder / "long.safetensors",
      " --quiet --transport=mpi --save=", folder / "saved",
      " --metrics=", folder / "metrics.jsonl",
      " & pid=$!; for i in $(seq 300); do test -s ", folder / "metrics.jsonl",
      " && break; sleep 0.1; done; kill -INT $pid; wait $pid; "
      "echo status $?; }");
  CommandResult result = runCommand(command);
  EXPECT_NE(result.output.find("pmrun: interrupted after"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("status 130"), std::string::npos)
      << result.output;
  EXPECT_TRUE(std::filesystem::exists(folder / "saved/config.json"));
}

#else

TEST(Mpi, IsRefusedWithTheWayToGetIt) {
  CommandResult result =
      pmrun("bundle --weights=w --data=d.txt --transport=mpi");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.output.find("built without MPI; install libopenmpi-dev"),
            std::string::npos)
      << result.output;
}

#endif

} // namespace
