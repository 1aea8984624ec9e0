//===- ErrorsTest.cpp - Bundles and runs that are refused -----------------===//

#include "Fixture.h"

#include "core/Cpu.h"

#include <cmath>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;
using json = nlohmann::ordered_json;

namespace {

class Refused : public testing::Test {
protected:
  void SetUp() override {
    writeWeights(folder / "model");
    writeData(folder / "data.safetensors", 4);
    writeFile(folder / "text.txt", std::string(400, '\1'));
  }

  /// Opens a bundle whose manifest was changed.
  void open(const std::function<void(json &)> &change, int fault = 0) {
    // A loaded library is known by its path: each bundle has another one.
    path = folder / cat("bundle", ++opened);
    writeBundle(path, 1, 1, fault, change);
    Bundle bundle(path);
  }

  /// Runs pmrun and expects one line on stderr with each of the texts.
  void expectRefused(const std::string &arguments,
                     std::initializer_list<std::string> texts) {
    CommandResult result = pmrun(arguments);
    EXPECT_EQ(result.status, 1) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1)
        << result.output;
    EXPECT_EQ(result.output.rfind("pmrun: error: ", 0), 0u) << result.output;
    for (const std::string &text : texts)
      EXPECT_NE(result.output.find(text), std::string::npos)
          << "got '" << result.output << "', wanted '" << text << "'";
  }

  std::string usual() {
    return cat(folder / "bundle", " --weights=", folder / "model",
               " --data=", folder / "data.safetensors");
  }

  TemporaryFolder folder;
  std::string path;
  int opened = 0;
};

TEST_F(Refused, ManifestsThatDoNotFit) {
  EXPECT_ERROR(Bundle bundle(folder / "none"), "none", "not a bundle");
  EXPECT_ERROR(Bundle bundle(folder / "model"), "no manifest.json", "pmc");
  EXPECT_ERROR(open([](json &m) { m["version"] = 7; }), "version 7",
               "reads version 1", "compile it again");
  EXPECT_ERROR(open([](json &m) { m["abi"] = 9; }), "abi 9", cat("reads abi ", PMRT_ABI_VERSION));
  EXPECT_ERROR(open([](json &m) { m["format"] = "zip"; }), "format 'zip'");
  EXPECT_ERROR(open([](json &m) { m.erase("hash"); }), "lacks 'hash'");
  EXPECT_ERROR(open([](json &m) { m["batch"] = "eight"; }),
               "'batch' = \"eight\"");
  EXPECT_ERROR(open([](json &m) { m["hash"] = "other"; }),
               "the hash 'linear-hash'", "'other'");
  EXPECT_ERROR(open([](json &m) { m["outputs"]["loss"] = "lost"; }), "the loss",
               "'lost'");
  EXPECT_ERROR(open([](json &m) { m["mesh"][0]["size"] = 2; }), "mesh axis 0",
               "size 1", "size 2");
  EXPECT_ERROR(
      open([](json &m) { m["roles"][0]["buffers"][4]["name"] = "tail"; }),
      "'tail'");
  EXPECT_ERROR(open([](json &m) { m["roles"][0]["buffers"][8]["bytes"] = 4; }),
               "buffer 'head' has 4 bytes", "[16, 8]");
  EXPECT_ERROR(open([](json &m) { m["recipe"]["momentum"] = 1; }),
               "unknown key 'momentum'");
  for (std::string text :
       {std::string(), std::string("[]"), std::string(100000, '[')}) {
    writeFile(path + "/manifest.json", text);
    EXPECT_ERROR(Bundle bundle(path), "manifest.json", "not a JSON object");
  }
}

TEST_F(Refused, RolesThatDoNotFit) {
  auto same = [](json &) {};
  EXPECT_ERROR(open(same, 3), "operand 1 ends at byte 1024",
               "buffer 'head' with 512");
  EXPECT_ERROR(open(same, 4), "role_0.so",
               cat("ABI version ", PMRT_ABI_VERSION + 1),
               cat("has ", PMRT_ABI_VERSION));
  std::string other = folder / "other";
  writeBundle(other, 1, 1);
  std::filesystem::remove(other + "/role_0.so");
  EXPECT_ERROR(Bundle bundle(other), "role_0.so");
  writeFile(other + "/role_0.so", "no ELF file");
  EXPECT_ERROR(Bundle bundle(other), "cannot load", "role_0.so");
}

TEST_F(Refused, AnotherProcessor) {
  EXPECT_ERROR(
      open([](json &m) { m["target"]["features"] = {"+avx2", "+telepathy"}; }),
      "lacks", "telepathy", "processor 'test'", "compile it again");
  EXPECT_ERROR(open([](json &m) { m["target"]["triple"] = "vax-dec-ultrix"; }),
               "vax-dec-ultrix", hostArchitecture());
  EXPECT_EQ(missingCpuFeatures({"+avx512f", "+sse4.1", "-avx512bw", "+fma",
                                "bmi", "+avx512vbmi2"},
                               {"sse4_1", "fma", "bmi1"}),
            (std::vector<std::string>{"avx512f", "avx512vbmi2"}));
}

TEST_F(Refused, ReadsOfMemoryThatNothingWrote) {
  writeBundle(folder / "bundle", 1, 1, 1);
  expectRefused(usual(), {"has no certificate.json", "--no-certificate"});
  expectRefused(usual() + " --poison --no-certificate",
                {"instruction 3 of 'stage0_forward'", "add_loss",
                 "the scratch region", "nothing has written"});
  // A kernel's own scratch has no tables to check; NaN shows it.
  writeBundle(folder / "bundle", 1, 1, 2);
  expectRefused(usual() + " --poison",
                {"the loss is nan at step 0", "at loss"});
  CommandResult result = pmrun(usual());
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(Refused, AKernelThatCrashesIsNamed) {
  writeBundle(folder / "bundle", 1, 1, 5);
  CommandResult result = pmrun(usual() + " --threads=2");
  EXPECT_NE(result.status, 0);
#ifdef __x86_64__
  EXPECT_NE(result.output.find("rank 0: arithmetic fault in kernel "
                               "'cross_entropy' at loss of 'stage0_forward'"),
            std::string::npos)
      << result.output;
#endif
}

TEST_F(Refused, ALossThatIsNotFiniteNamesStepAndParameter) {
  writeBundle(folder / "bundle", 2, 2);
  std::string saved = folder / "saved";
  ASSERT_EQ(pmrun(usual() + " --steps=0 --save=" + saved).status, 0);
  std::string before = readFile(saved + "/model.safetensors");
  std::vector<float> head = noise(vocabulary * width, 2);
  head[9] = NAN;
  writeWeights(folder / "model", noise(vocabulary * width, 1), head);
  expectRefused(usual() + " --save=" + saved,
                {"the loss is nan at step 0",
                 "parameter 'head.weight' holds nan at element 9",
                 "gemm at head (fragment 'stage0_forward'",
                 "'" + saved + "' is left as it was"});
  EXPECT_EQ(readFile(saved + "/model.safetensors"), before);
}

TEST_F(Refused, ALossThatGrowsIsStoppedAndTheLastSaveKept) {
  writeBundle(folder / "bundle", 2, 1);
  std::string saved = folder / "saved";
  writeFile(folder / "recipe.json",
            R"({"learning_rate": [0.01, 3e38, 0.01, 0.01]})");
  expectRefused(cat(usual(), " --save=", saved,
                    " --save-every=1 --recipe=", folder / "recipe.json"),
                {"at step 2", "head", "the state after step 2"});
  EXPECT_TRUE(std::filesystem::exists(saved + "/config.json"));
}

TEST_F(Refused, BadInputLeavesNothingHalfWritten) {
  writeBundle(folder / "bundle", 1, 1);
  auto listing = [&] {
    std::set<std::string> names;
    for (auto &entry :
         std::filesystem::recursive_directory_iterator(folder.path))
      names.insert(entry.path().string());
    return names;
  };
  auto before = listing();
  std::string out = cat(" --save=", folder / "out",
                        " --save-logits=", folder / "logits.safetensors");
  expectRefused(cat(folder / "bundle", " --weights=", folder / "nowhere",
                    " --data=", folder / "data.safetensors", out),
                {"nowhere"});
  expectRefused(cat(folder / "bundle", " --weights=", folder / "model",
                    " --data=", folder / "none.txt", out),
                {"none.txt"});
  expectRefused(usual() + out + " --frobnicate", {"--frobnicate"});
  expectRefused(cat(usual(), out, " --metrics=", folder / "no/m.jsonl"),
                {"--metrics", "does not exist"});
  expectRefused(cat(usual(), out, " --recipe=", folder / "none.json"),
                {"none.json"});
  EXPECT_EQ(listing(), before);
}

TEST_F(Refused, DataThatEndsStopsTheRunWithAMessage) {
  writeBundle(folder / "bundle", 2, 2);
  CommandResult result = pmrun(usual() + " --steps=9 --quiet");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.output.find("the data ends after 4 steps, before the 9"),
            std::string::npos)
      << result.output;
}

TEST_F(Refused, MetricsHaveEveryFieldAndTheSummaryEveryRank) {
  writeBundle(folder / "bundle", 2, 2);
  CommandResult result = pmrun(cat(usual(), " --metrics=", folder / "m.jsonl"));
  ASSERT_EQ(result.status, 0) << result.output;
  std::istringstream lines(readFile(folder / "m.jsonl"));
  int64_t step = 0;
  for (std::string line; std::getline(lines, line); ++step) {
    json value = json::parse(line);
    EXPECT_EQ(value["step"], step);
    for (const char *key : {"loss", "grad_norm", "learning_rate",
                            "counted_tokens", "step_ms", "tokens_per_s"})
      EXPECT_TRUE(value[key].is_number()) << key;
  }
  EXPECT_EQ(step, 4);
  for (const char *text : {"rank 0 (dp=0)", "rank 1 (dp=1)", "gemm", "kernels",
                           "collectives", "waiting", "tokens/s", "peak"})
    EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
}

TEST_F(Refused, HelpShowsExamples) {
  CommandResult result = pmrun("--help");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.output.find("examples:"), std::string::npos);
}

} // namespace
