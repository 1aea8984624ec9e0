//===- ReportTest.cpp - What ranks count while they run -------------------===//

#include "PipelineFixture.h"

#include "core/Safetensors.h"
#include "launch/Counts.h"

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;
using json = nlohmann::ordered_json;

namespace {

class Report : public testing::Test {
protected:
  void SetUp() override { writeData(folder / "data.safetensors", 3); }

  json counts(const std::string &bundle, const std::string &weights,
              int64_t steps) {
    Options options;
    options.bundle = bundle;
    options.weights = weights;
    Session session(options, nullptr);
    auto data =
        openTokenData(folder / "data.safetensors", session.batchShape());
    for (int64_t step = 0; step < steps; ++step)
      session.run(data->read(step));
    json result = countsOfAll(session.getJob());
    table = countsTable(result);
    return result;
  }

  TemporaryFolder folder;
  std::string table;
};

TEST_F(Report, CountsCollectivesByAxisAndModule) {
  writeBundle(folder / "bundle", 8, 1);
  writeWeights(folder / "model");
  json result = counts(folder / "bundle", folder / "model", 3);
  ASSERT_EQ(result["ranks"].size(), 8u);
  EXPECT_EQ(result["steps"], 3);
  const json &rank = result["ranks"][5];
  EXPECT_EQ(rank["coordinates"]["dp"], 5);
  // Two products of [4, 8] by [8, 16].
  EXPECT_EQ(rank["flops"], 2 * 2 * 4 * 8 * 16);
  EXPECT_EQ(rank["weight_bytes"], 2 * vocabulary * width * 4);
  EXPECT_EQ(rank["weight_bytes_read"], 2 * vocabulary * width * 4);
  ASSERT_EQ(rank["communication"].size(), 2u);
  const json &gradient = rank["communication"][1];
  int64_t bytes = vocabulary * width * 4 + 4;
  EXPECT_EQ(gradient["kind"], "all-reduce");
  EXPECT_EQ(gradient["axes"], json{"dp"});
  EXPECT_EQ(gradient["group_size"], 8);
  EXPECT_EQ(gradient["operands"], 2);
  EXPECT_EQ(gradient["operand_bytes"], bytes);
  EXPECT_EQ(gradient["wire_bytes"], 2 * 7 * bytes / 8);
  EXPECT_EQ(gradient["runs"], 1);
  EXPECT_EQ(gradient["module"], "head");
  EXPECT_EQ(gradient["fragment"], "update");
  double busy = rank["busy_share"].get<double>();
  EXPECT_GT(busy, 0);
  EXPECT_LT(busy, 1);
  for (const char *text : {"rank 5   dp=5", "dp       all-reduce", "head"})
    EXPECT_NE(table.find(text), std::string::npos) << table;
}

TEST_F(Report, CountsTransfersAtTheirSender) {
  writePipeline(folder / "bundle", {2});
  writePipelineWeights(folder / "model");
  json result = counts(folder / "bundle", folder / "model", 2);
  for (const json &rank : result["ranks"]) {
    std::vector<json> transfers;
    for (const json &entry : rank["communication"])
      if (entry["kind"] == "transfer")
        transfers.push_back(entry);
    ASSERT_EQ(transfers.size(), 2u);
    bool first = rank["coordinates"]["pp"] == 0;
    EXPECT_EQ(transfers[0]["module"], first ? "h" : "dh");
    EXPECT_EQ(transfers[0]["fragment"], first ? "forward" : "backward");
    EXPECT_EQ(transfers[0]["axes"], json{"pp"});
    EXPECT_EQ(transfers[0]["wire_bytes"], 4 * 4);
    EXPECT_EQ(transfers[0]["runs"], 4);
    EXPECT_EQ(transfers[1]["fragment"], "reduce");
    EXPECT_EQ(transfers[1]["runs"], 1);
    // Each rank holds and reads the weight of its stage only.
    EXPECT_EQ(rank["weight_bytes"], 4);
    EXPECT_EQ(rank["weight_bytes_read"], 4);
    EXPECT_EQ(rank["flops"], 4 * (2 + 4) * 4 + 1 + 2);
  }
}

TEST_F(Report, EachRankReadsOnlyItsSliceOfAWeight) {
  // Rows of the table cut over dp, in blocks that do not divide it.
  writeBundle(folder / "bundle", 8, 1, 0, [](json &manifest) {
    for (json &buffer : manifest["roles"][0]["buffers"])
      if (buffer["name"] == "embed") {
        buffer["global_shape"] = {7 * vocabulary + 5, width};
        buffer["sharding"] = {json{"dp"}, json::array()};
      }
    manifest["parameters"][0]["shape"] = {7 * vocabulary + 5, width};
  });
  int64_t rows = 7 * vocabulary + 5;
  std::vector<float> embed = noise(rows * width, 1);
  std::vector<float> head = noise(vocabulary * width, 2);
  std::filesystem::create_directories(folder.path / "model");
  const std::vector<float> *values[] = {&embed, &head};
  writeSafetensors(folder / "model/model.safetensors",
                   {{"embed.weight", "F32", {rows, width}},
                    {"head.weight", "F32", {vocabulary, width}}},
                   {}, [&](size_t i) { return values[i]->data(); });
  json result = counts(folder / "bundle", folder / "model", 0);
  for (const json &rank : result["ranks"]) {
    bool last = rank["rank"] == 7;
    EXPECT_EQ(rank["weight_bytes_read"],
              ((last ? 5 : vocabulary) + vocabulary) * width * 4);
    EXPECT_EQ(rank["weight_bytes"], 2 * vocabulary * width * 4);
  }
}

TEST_F(Report, IsWrittenByPmrun) {
  writePipeline(folder / "bundle", {1});
  writePipelineWeights(folder / "model");
  std::string usual = cat(folder / "bundle", " --weights=", folder / "model",
                          " --data=", folder / "data.safetensors", " --quiet");
  CommandResult result =
      pmrun(cat(usual, " --report=", folder / "report.json"));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "");
  json report = json::parse(readFile(folder / "report.json"));
  EXPECT_EQ(report["format"], "pipemesh-report");
  EXPECT_EQ(report["hash"], "pipeline-hash");
  EXPECT_GT(report["peak_memory_bytes"], 0);
  result = pmrun(usual + " --report");
  EXPECT_NE(result.output.find("pp       transfer        forward   h"),
            std::string::npos)
      << result.output;
}

} // namespace
