//===- FunctionTest.cpp - Whole functions: loops, choices, tensors --------===//

#include "Fixture.h"

#include "core/Bundle.h"
#include "core/Cpu.h"
#include "core/Safetensors.h"
#include "pmrt/pmrt.h"

#include <cstring>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// The manifest of Inputs/loop_model.c.
json loopManifest() {
  json buffers = json::array(), arguments = json::array(),
       results = json::array();
  auto add = [&](const char *name, bool isInput, const char *dtype, json global,
                 json local, json sharding) {
    int64_t bytes = 4;
    for (auto &size : local)
      bytes *= size.get<int64_t>();
    buffers.push_back({{"name", name},
                       {"kind", isInput ? "input" : "output"},
                       {"role", isInput ? "argument" : "result"},
                       {"dtype", dtype},
                       {"global_shape", global},
                       {"local_shape", local},
                       {"sharding", sharding},
                       {"init", isInput ? "input" : "none"},
                       {"slots", 1},
                       {"bytes", bytes}});
    (isInput ? arguments : results)
        .push_back({{"name", name},
                    {"buffer", name},
                    {"dtype", dtype},
                    {"shape", global},
                    {"info", isInput ? "" : cat("result of ", name)}});
  };
  json cut = json::array({json::array({"dp"})});
  add("arg0", true, "f32", {8}, {4}, cut);
  add("arg1", true, "i32", json::array(), json::array(), json::array());
  add("out0", false, "f32", {8}, {4}, cut);
  add("out1", false, "i32", json::array(), json::array(), json::array());
  return {{"format", "pipemesh-bundle"},
          {"version", 1},
          {"abi", PMRT_ABI_VERSION},
          {"hash", "loop-hash"},
          {"target",
           {{"triple", hostArchitecture() + "-unknown-linux-gnu"},
            {"cpu", "test"},
            {"features", json::array()},
            {"vector_width", 4}}},
          {"task", "function"},
          {"batch", 0},
          {"sequence", 0},
          {"vocabulary", 0},
          {"mesh", {{{"name", "dp"}, {"kind", "spatial"}, {"size", 2}}}},
          {"parameters", json::array()},
          {"outputs", json::object()},
          {"arguments", arguments},
          {"results", results},
          {"roles",
           {{{"file", "role_0.so"},
             {"arena_bytes", 512},
             {"scratch_bytes", 256},
             {"buffers", buffers}}}}};
}

class Function : public testing::Test {
protected:
  void write(int fault = 0) {
    fs::create_directories(folder / "bundle");
    writeFile(folder / "bundle/manifest.json", loopManifest().dump(1));
    fs::path role = folder / "bundle/role_0.so";
    fs::remove(role);
    fs::copy_file(fs::path(PMRT_TEST_ROLES) / cat("loop_", fault, ".so"), role);
    certifyBundle(folder / "bundle");
  }

  void writeInputs(int32_t trips,
                   std::vector<TensorToWrite> tensors = {
                       {"arg0", "F32", {8}}, {"arg1", "I32", {}}}) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<int32_t> numbers(64, trips);
    writeSafetensors(folder / "in.safetensors", tensors, {},
                     [&](size_t i) -> const void * {
                       if (i == 0)
                         return x.data();
                       return numbers.data();
                     });
  }

  CommandResult run(const std::string &options = "") {
    return pmrun(cat(folder / "bundle", " --inputs=", folder / "in.safetensors",
                     " --outputs=", folder / "out.safetensors ", options));
  }

  void expectResults(int32_t trips) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int32_t i = 0; i < trips; ++i) {
      float sum = 0, parts[2] = {0, 0};
      for (int j = 0; j < 8; ++j)
        parts[j / 4] += x[j];
      sum = parts[0] + parts[1];
      for (float &value : x)
        value = value / 2 + sum;
    }
    SafetensorsFile file(folder / "out.safetensors", "results");
    const StoredTensor *out0 = file.find("out0"), *out1 = file.find("out1");
    ASSERT_TRUE(out0 && out1);
    EXPECT_EQ(out0->shape, Shape({8}));
    EXPECT_EQ(std::memcmp(out0->data, x.data(), sizeof(float) * 8), 0);
    int32_t chosen;
    std::memcpy(&chosen, out1->data, 4);
    EXPECT_EQ(chosen, trips == 0 ? 100 : trips == 1 ? 200 : 300);
  }

  void expectFailure(const CommandResult &result,
                     std::initializer_list<std::string> texts) {
    EXPECT_EQ(result.status, 1) << result.output;
    for (const std::string &text : texts)
      EXPECT_NE(result.output.find(text), std::string::npos)
          << "got '" << result.output << "', wanted '" << text << "'";
  }

  TemporaryFolder folder;
};

TEST_F(Function, loopsRunAsOftenAsTheirConditionSays) {
  write();
  for (int32_t trips : {0, 1, 5, -1}) {
    writeInputs(trips);
    CommandResult result = run("--poison --quiet");
    EXPECT_EQ(result.status, 0) << result.output;
    expectResults(trips);
  }
}

#ifdef PIPEMESH_HAVE_MPI
TEST_F(Function, mpiGivesTheSameBits) {
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  write();
  writeInputs(3);
  CommandResult result = run("--transport=mpi --quiet");
  EXPECT_EQ(result.status, 0) << result.output;
  expectResults(3);
  write(3);
  expectFailure(run("--transport=mpi --quiet"),
                {"result 'out1' (result of out1) is 300 at [] on rank 0 (dp=0), "
                 "but 301 on rank 1 (dp=1)"});
}
#endif

TEST_F(Function, countsAndTracesWhatRan) {
  write();
  writeInputs(5);
  std::string report = folder / "report.json", trace = folder / "trace.json";
  CommandResult result =
      run(cat("--report=", report, " --trace=", trace));
  EXPECT_EQ(result.status, 0) << result.output;
  json counts = json::parse(readFile(report));
  json entry = counts["ranks"][0]["communication"][0];
  EXPECT_EQ(entry["runs"], 5);
  EXPECT_EQ(entry["operand_bytes"], 4);
  EXPECT_EQ(entry["module"], "loop.sum");
  // Six conditions, five sums and steps.
  EXPECT_EQ(counts["ranks"][0]["flops"], 6 + 5 * (4 + 8));
  std::string events = readFile(trace);
  size_t found = 0;
  for (size_t at = 0; (at = events.find("all-reduce", at)) != std::string::npos;
       ++at)
    ++found;
  EXPECT_GE(found, 10u); // of two ranks
}

TEST_F(Function, tablesWithWrongJumpsAreRefused) {
  writeInputs(1);
  write(1);
  expectFailure(run(), {"goes to instruction 16 of 15"});
  write(2);
  expectFailure(run(), {"chooses by a f32, not by an i1 or i32"});
}

TEST_F(Function, replicasThatDifferAreTold) {
  write(3);
  writeInputs(1);
  expectFailure(run("--quiet"),
                {"result 'out1' (result of out1) is 200 at [] on rank 0 (dp=0), "
                 "but 201 on rank 1 (dp=1), which holds a copy of it"});
  EXPECT_TRUE(fs::exists(folder / "out.safetensors"));
}

TEST_F(Function, argumentsAreChecked) {
  write();
  writeInputs(1, {{"arg0", "F32", {8}}});
  expectFailure(run(), {"has no 'arg1', a I32 of shape []",
                        "the function takes 2 arguments"});
  writeInputs(1, {{"arg0", "F32", {8}}, {"arg1", "I64", {}}});
  expectFailure(run(), {"'arg1' is a I64 of shape []", "takes a I32"});
  writeInputs(1, {{"arg0", "F32", {2, 4}}, {"arg1", "I32", {}}});
  expectFailure(run(), {"'arg0' is a F32 of shape [2, 4]", "of shape [8]"});
  writeInputs(1, {{"arg0", "F32", {8}}, {"arg1", "I32", {}}, {"arg2", "I32", {}}});
  expectFailure(run(), {"has 'arg2', but the function takes 'arg0' to 'arg1' only"});
  // Results of a reference may stand in the file.
  writeInputs(1, {{"arg0", "F32", {8}}, {"arg1", "I32", {}}, {"out0", "I32", {}}});
  EXPECT_EQ(run("--quiet").status, 0);
}

TEST_F(Function, bundlesAreRunAsWhatTheyAre) {
  write();
  writeInputs(1);
  expectFailure(pmrun(cat(folder / "bundle", " --outputs=", folder / "out")),
                {"--inputs is missing: the function takes 2 arguments"});
  writeWeights(folder / "model");
  writeData(folder / "data.safetensors", 1);
  expectFailure(pmrun(cat(folder / "bundle", " --weights=", folder / "model", " --data=",
                          folder / "data.safetensors")),
                {"is of a whole function; run it with --inputs and --outputs"});
  writeBundle(folder / "linear", 1, 1);
  expectFailure(pmrun(cat(folder / "linear", " --inputs=", folder / "in.safetensors",
                          " --outputs=", folder / "out.safetensors")),
                {"was compiled from a model; run it with --weights and --data"});
}

} // namespace
