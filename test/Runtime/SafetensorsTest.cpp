//===- SafetensorsTest.cpp - Tensor files and model directories -----------===//

#include "Fixture.h"

#include "core/Safetensors.h"

#include <cstring>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

/// A file with the given header and data.
std::string fileText(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<char *>(&size), 8) + header + data;
}

class Safetensors : public testing::Test {
protected:
  void write(const std::string &header, const std::string &data) {
    writeFile(path, fileText(header, data));
  }
  void open() { SafetensorsFile file(path, "weights"); }

  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
};

TEST_F(Safetensors, ReadsWhatItWrote) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<int32_t> y = {-100, 7};
  writeSafetensors(path, {{"x", "F32", {2, 3}}, {"y", "I32", {2}}},
                   {{"format", "pt"}}, [&](size_t i) -> const void * {
                     return i ? static_cast<void *>(y.data()) : x.data();
                   });
  SafetensorsFile file(path, "weights");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_NE(file.find("x"), nullptr);
  EXPECT_EQ(file.find("x")->shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(file.find("x")->data, x.data(), 24), 0);
  EXPECT_EQ(std::memcmp(file.find("y")->data, y.data(), 8), 0);
  EXPECT_EQ(file.find("z"), nullptr);
}

TEST_F(Safetensors, ConvertsEveryFloatType) {
  std::string data(8 + 4 + 2 + 2, '\0');
  double d = 0.1;
  float f = -2.5;
  uint16_t bf16 = 0x4049, f16 = 0x3555; // 3.140625 and 0.33325...
  std::memcpy(data.data(), &d, 8);
  std::memcpy(data.data() + 8, &f, 4);
  std::memcpy(data.data() + 12, &bf16, 2);
  std::memcpy(data.data() + 14, &f16, 2);
  write(R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
        R"("f":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
        R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},)"
        R"("h":{"dtype":"F16","shape":[1],"data_offsets":[14,16]}})",
        data);
  SafetensorsFile file(path, "weights");
  auto value = [&](const char *name) {
    float result;
    convertToF32(*file.find(name), 0, 1, &result);
    return result;
  };
  EXPECT_EQ(value("d"), 0.1f);
  EXPECT_EQ(value("f"), -2.5f);
  EXPECT_EQ(value("b"), 3.140625f);
  EXPECT_EQ(value("h"), 0.333251953125f);
}

TEST_F(Safetensors, DamagedFilesAreRefusedInOneLine) {
  EXPECT_ERROR(open(), "cannot read weights", path, "No such file");
  writeFile(path, "abc");
  EXPECT_ERROR(open(), path, "is truncated", "3 bytes");
  writeFile(path, std::string("\xff\xff\0\0\0\0\0\0{}", 10));
  EXPECT_ERROR(open(), path, "header claims 65535 bytes and 2 follow");
  write("[1]", "");
  EXPECT_ERROR(open(), path, "not a JSON object");
  write(R"({"x":{"dtype":"F32","shape":[2]}})", "");
  EXPECT_ERROR(open(), path, "'x' lacks");
  write(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234");
  EXPECT_ERROR(open(), path, "'x' ends at data byte 8", "holds 4");
  write(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
        "12345678");
  EXPECT_ERROR(open(), path, "'x' has 8 bytes", "[3] of F32");
  write(R"({"x":{"dtype":"Q4","shape":[8],"data_offsets":[0,4]}})", "1234");
  EXPECT_ERROR(open(), "unknown type 'Q4'");
  write(R"({"x":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}})",
        "12345678");
  EXPECT_ERROR(open(), "'x' has 8 bytes");
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFile) {
  writeFile(path, "old");
  EXPECT_THROW(
      writeSafetensors(path, {{"x", "F32", {2}}}, {},
                       [](size_t) -> const void * { fail("no data"); }),
      Error);
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
}

TEST_F(Safetensors, ShardedModelsAreFoundThroughTheirIndex) {
  std::vector<float> values = noise(6, 1);
  auto data = [&](size_t) { return values.data(); };
  writeSafetensors(folder / "one.safetensors", {{"a", "F32", {2, 3}}}, {},
                   data);
  writeSafetensors(folder / "two.safetensors", {{"model.b", "F32", {6}}}, {},
                   data);
  writeFile(folder / "model.safetensors.index.json",
            R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors",)"
            R"("model.b":"two.safetensors","c":"three.safetensors"}})");
  Checkpoint checkpoint(folder.path.string());
  EXPECT_EQ(
      std::memcmp(checkpoint.parameter("a", {2, 3}).data, values.data(), 24),
      0);
  EXPECT_ERROR(checkpoint.parameter("b", {6}), "two.safetensors",
               "lack the tensor 'b'");
  EXPECT_ERROR(checkpoint.parameter("c", {6}), "three.safetensors");
  EXPECT_ERROR(checkpoint.parameter("d", {6}), "lack the parameter 'd'");
  EXPECT_ERROR(checkpoint.parameter("a", {3, 2}), "'a' has shape [2, 3]",
               "compiled for [3, 2]");
}

TEST_F(Safetensors, NamesOfACheckpointWithoutItsHeadAreFound) {
  std::vector<float> values = noise(6, 1);
  writeSafetensors(folder / "model.safetensors",
                   {{"h.0.ln_1.weight", "F32", {6}}, {"ids", "I32", {6}}}, {},
                   [&](size_t) { return values.data(); });
  Checkpoint checkpoint(folder.path.string());
  EXPECT_EQ(checkpoint.parameter("transformer.h.0.ln_1.weight", {6}).bytes,
            24u);
  EXPECT_ERROR(checkpoint.parameter("ids", {6}), "has type I32");
}

TEST_F(Safetensors, FoldersWithoutWeightsAreRefused) {
  EXPECT_ERROR(Checkpoint checkpoint(folder / "none"),
               "is not a model directory");
  EXPECT_ERROR(Checkpoint checkpoint(folder.path.string()),
               "model.safetensors.index.json");
  writeFile(folder / "model.safetensors.index.json", "{}");
  EXPECT_ERROR(Checkpoint checkpoint(folder.path.string()), "weight_map");
}

} // namespace
